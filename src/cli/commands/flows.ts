import type { RemoteRecord } from '../../client/answers.ts'
import { sessionAgent } from '../../define/define-flow.ts'
import { command } from '../command.ts'
import { countOf } from '../count-of.ts'
import { exitCodes } from '../exit-codes.ts'
import { withTarget } from '../target/open-target.ts'
import type { Target } from '../target/target.ts'
import { targetArgs } from '../target/target-args.ts'
import { table } from '../terminal/table.ts'
import { ago } from '../terminal/time.ts'
import { commandLine } from '../transcript/command-line.ts'
import { problemNotes } from '../transcript/problem-notes.ts'

export const flows = command({
  args: {
    flow: { type: 'string', valueHint: 'name', description: 'Only sessions of this flow' },
    status: {
      type: 'enum',
      options: ['active', 'suspended', 'idle', 'ended'],
      description: 'Only those that stand so',
    },
    limit: { type: 'string', valueHint: 'n', description: 'How many at most; default: 50' },
    before: { type: 'string', valueHint: 'id', description: 'Go on after this session of an earlier page' },
    ...targetArgs,
  },
  examples: [
    ['flows', 'the newest fifty sessions of all flows'],
    ['flows --flow import --status suspended', 'those of one flow that wait for somebody'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const limit = countOf('limit', args.limit) ?? 50
      const { sessions, before } = await findSessions(target, args, limit)
      output.result({ sessions, before }, () => {
        if (sessions.length === 0) return ['There are no sessions.']
        const rows = sessions.map(({ id, agent, status, lastSeq, updatedAt }) => [
          id,
          (agent ?? '').slice(sessionAgent('').length),
          status,
          String(lastSeq),
          ago(updatedAt),
        ])
        return table(['ID', 'FLOW', 'STATUS', 'EVENTS', 'UPDATED'].map(output.colours.bold), rows, output.width)
      })
      for (const note of problemNotes(sessions, args)) output.note(note)
      if (before !== null) {
        const { flow, status } = args
        const filters = [...(flow ? ['--flow', flow] : []), ...(status ? ['--status', status] : [])]
        const next = commandLine(['flows', ...filters, '--limit', String(limit), '--before', before], args)
        output.note(`More: ${next}`)
      }
      return exitCodes.ok
    }),
})

type Filter = Readonly<Record<'flow' | 'before', string | undefined>> & {
  readonly status: RemoteRecord['status'] | undefined
}

/** Sessions are among the conversations; unless a flow is named, those are passed over. */
async function findSessions(target: Target, { flow, status, before }: Filter, limit: number) {
  const filter = { ...(status ? { status } : {}), ...(flow ? { agent: sessionAgent(flow) } : {}) }
  const sessions: RemoteRecord[] = []
  for (let cursor: string | null = before ?? null; ; ) {
    const page = await target.conversations({ ...filter, limit: 200, ...(cursor === null ? {} : { before: cursor }) })
    sessions.push(...page.conversations.filter(({ kind }) => kind === 'flow'))
    cursor = page.before
    if (sessions.length > limit) return { sessions: sessions.slice(0, limit), before: sessions[limit - 1]!.id }
    if (cursor === null) return { sessions, before: null }
  }
}
