import { command } from '../command.ts'
import { countOf } from '../count-of.ts'
import { exitCodes } from '../exit-codes.ts'
import { withTarget } from '../target/open-target.ts'
import { targetArgs } from '../target/target-args.ts'
import { table } from '../terminal/table.ts'
import { ago, duration } from '../terminal/time.ts'
import { commandLine } from '../transcript/command-line.ts'
import { excerpt } from '../transcript/excerpt.ts'
import { shortCallId } from '../transcript/pending-lines.ts'

export const inbox = command({
  args: {
    limit: { type: 'string', valueHint: 'n', description: 'How many at most; default: 50' },
    before: { type: 'string', valueHint: 'call', description: 'Go on after this call of an earlier page' },
    ...targetArgs,
  },
  about:
    'Over all conversations, the newest first. What a child agent waits for is shown with the conversations above it.',
  examples: [
    ['inbox', 'everything that waits'],
    ['inbox --json | jq -r .items[].conversationId', 'in a script'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const limit = countOf('limit', args.limit) ?? 50
      const page = await target.inbox({ limit, ...(args.before ? { before: args.before } : {}) })
      output.result(page, () => {
        if (page.items.length === 0) return ['Nothing waits for anybody.']
        const rows = page.items.map((item) => [
          item.path.map((step) => step.conversationId).join(' > '),
          shortCallId(item.id),
          item.quarantinedAt === undefined ? item.kind : `${item.kind} (quarantined)`,
          ago(item.createdAt),
          item.expiresAt === null ? 'never' : `in ${duration(item.expiresAt - Date.now())}`,
          `${item.name} ${excerpt(item.args, false)}`,
        ])
        const heading = ['CONVERSATION', 'CALL', 'KIND', 'SINCE', 'EXPIRES', 'TOOL'].map(output.colours.bold)
        return table(heading, rows, output.width)
      })
      if (page.items.length > 0)
        output.note(`Look closer: ${commandLine(['show', page.items[0]!.path[0]!.conversationId], args)}`)
      if (page.before !== null) output.note(`More: ${commandLine(['inbox', '--before', page.before], args)}`)
      return exitCodes.ok
    }),
})
