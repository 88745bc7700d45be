import { command } from '../command.ts'
import { countOf } from '../count-of.ts'
import { exitCodes } from '../exit-codes.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs } from '../target/target-args.ts'
import { table } from '../terminal/table.ts'
import { ago } from '../terminal/time.ts'
import { commandLine } from '../transcript/command-line.ts'
import { problemNotes } from '../transcript/problem-notes.ts'

export const list = command({
  args: {
    status: {
      type: 'enum',
      options: ['active', 'suspended', 'idle', 'ended'],
      description: 'Only those that stand so',
    },
    agent: { type: 'string', description: "Only this agent's; flow:<name> for the sessions of a flow" },
    limit: { type: 'string', valueHint: 'n', description: 'How many at most; default: 50' },
    before: { type: 'string', valueHint: 'id', description: 'Go on after this conversation of an earlier page' },
    ...targetArgs,
  },
  examples: [
    ['list', 'the newest fifty'],
    ['list --status suspended --agent support', 'what waits for somebody'],
    ['list --json --url http://127.0.0.1:4111', 'from a running server, for a script'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const { status, agent, before } = args
      const limit = countOf('limit', args.limit) ?? 50
      const page = await target.conversations({
        ...(status ? { status } : {}),
        ...(agent ? { agent } : {}),
        ...(before ? { before } : {}),
        limit,
      })
      output.result(page, () => {
        if (page.conversations.length === 0) return ['There are no conversations.']
        const rows = page.conversations.map((record) => [
          record.id,
          record.status,
          record.agent ?? '',
          String(record.lastSeq),
          ago(record.updatedAt),
          record.title ?? '',
        ])
        return table(
          ['ID', 'STATUS', 'AGENT', 'EVENTS', 'UPDATED', 'TITLE'].map(output.colours.bold),
          rows,
          output.width,
        )
      })
      for (const note of problemNotes(page.conversations, args)) output.note(note)
      if (page.before !== null) {
        const filters = [...(status ? ['--status', status] : []), ...(agent ? ['--agent', agent] : [])]
        const next = commandLine(['list', ...filters, '--limit', String(limit), '--before', page.before], args)
        output.note(`More: ${next}`)
      }
      return exitCodes.ok
    }),
})
