import type { RemoteFlowStatus } from '../../client/flow.ts'
import type { FlowRecord } from '../../runtime/flow-session.ts'
import { command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { withTarget } from '../target/open-target.ts'
import { type TargetArgs, targetArgs } from '../target/target-args.ts'
import { type Printable, safe } from '../terminal/safe-text.ts'
import { commandLine } from '../transcript/command-line.ts'
import { excerpt } from '../transcript/excerpt.ts'

export const flowsShow = command({
  args: {
    flow: { type: 'positional', required: true, description: "The flow's name" },
    session: { type: 'positional', required: true, description: "The session's id" },
    full: { type: 'boolean', description: 'Show long values whole' },
    ...targetArgs,
  },
  examples: [
    ['flows show import import-7', 'its status, what it waits for, and its record'],
    ['flows show import import-7 --json', 'for a script'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const session = target.flow(args.flow, args.session)
      const [status, record] = await Promise.all([session.status(), session.record()])
      output.result({ ...status, record }, () => lines(status, record, output, { ...args, isFull: args.full ?? false }))
      return exitCodes.ok
    }),
})

type Shown = TargetArgs & { readonly flow: string; readonly isFull: boolean }

function lines(status: RemoteFlowStatus, record: FlowRecord, { colours }: Output, shown: Shown): Printable[] {
  const { isFull, flow } = shown
  const outcomes = record.outcomes.map((outcome) => {
    const { position, ok } = outcome
    const value = ok ? excerpt(outcome.value, isFull) : colours.red(excerpt({ ...outcome }, isFull))
    return safe`  ${String(position).padStart(3)} ${ok ? colours.green('ok') : colours.red('failed')} ${value}`
  })
  const waits = status.suspensions.flatMap(({ seq, tag }) => [
    safe`  ${colours.yellow('waits')} ${excerpt(tag, isFull)}`,
    safe`    ${colours.cyan(commandLine(['flows', 'resume', flow, status.id, '{}', '--seq', String(seq)], shown))}`,
  ])
  return [
    safe`${colours.bold(status.id)}  ${record.flow} version ${record.version}, ${status.status}`,
    safe`  input ${excerpt(record.input, isFull)}`,
    ...outcomes,
    ...waits,
    ...(status.status === 'done' ? [safe`  result ${excerpt(status.result, isFull)}`] : []),
  ]
}
