import type { RemoteFlowStatus, RemoteStanding } from '../../client/flow.ts'
import type { FlowRecord } from '../../runtime/flow-session.ts'
import { readValue } from '../answer/find-pending.ts'
import { command, countOf, type ExitCode, exitCodes } from '../command.ts'
import type { Output } from '../output.ts'
import { type Target, withTarget } from '../target/open-target.ts'
import { type TargetArgs, targetArgs, workArgs } from '../target/target-args.ts'
import { ago, type Printable, safe, table } from '../terminal/text.ts'
import { commandLine, problemNotes } from '../transcript/command-line.ts'
import { excerpt } from '../transcript/view-lines.ts'
import { upTo } from './list.ts'

export const flows = command({
  args: {
    flow: { type: 'string', valueHint: 'name', description: 'Only sessions of this flow' },
    status: {
      type: 'enum',
      options: ['running', 'waiting', 'sleeping', 'dormant', 'done', 'failed'],
      description: 'Only sessions with this status',
    },
    limit: { type: 'string', valueHint: 'n', description: 'How many at most; default: 50' },
    before: { type: 'string', valueHint: 'id', description: 'Continue after the last session of an earlier page' },
    ...targetArgs,
  },
  examples: [
    ['flows', 'the newest fifty sessions of all flows'],
    ['flows --flow import --status waiting', 'sessions of one flow that wait for an answer'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const limit = countOf('limit', args.limit) ?? 50
      const filter = { ...(args.flow ? { flow: args.flow } : {}), ...(args.status ? { status: args.status } : {}) }
      const found = await upTo(limit, args.before, async (page) => {
        const { sessions: items, before: next } = await target.sessions({ ...filter, ...page })
        return { items, before: next }
      })
      const { items: sessions, before } = found
      output.result({ sessions, before }, () => {
        if (sessions.length === 0) return ['There are no sessions.']
        const rows = sessions.map(({ id, flow, status, lastSeq, updatedAt }) => [
          id,
          flow,
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

export const flowsStart = command({
  args: {
    flow: { type: 'positional', required: true, description: "The flow's name" },
    session: { type: 'positional', required: true, description: "The session's id" },
    input: { type: 'positional', required: false, description: 'JSON; - reads stdin; default: null' },
    key: { type: 'string', description: 'Makes the command repeatable: the same key is the same start' },
    ...workArgs,
    ...targetArgs,
  },
  about: "Needs the flow's code: a config, or a server that has it.",
  examples: [
    [`flows start import import-7 '{"file":"a.csv"}' --url http://127.0.0.1:4111`, 'on a running server'],
    ['flows start import import-7 --work', 'on the store of the config, run by this process'],
  ],
  run: ({ args, output }) =>
    withTarget(
      args,
      output,
      async (target) => {
        const input = args.input === undefined ? null : await readValue('The input', args.input)
        const standing = await target.flow(args.flow, args.session).start(input, args.key ? { key: args.key } : {})
        return tellStanding(args.session, standing, output)
      },
      { work: args.work ?? false, create: args.work ?? false },
    ),
})

export const flowsShow = command({
  args: {
    flow: { type: 'positional', required: true, description: "The flow's name" },
    session: { type: 'positional', required: true, description: "The session's id" },
    full: { type: 'boolean', description: 'Print long values whole' },
    ...targetArgs,
  },
  examples: [
    ['flows show import import-7', 'its status, its suspensions, and its record'],
    ['flows show import import-7 --json', 'for a script'],
  ],
  run: ({ args, output }) => {
    const work = async (target: Target) => {
      const session = target.flow(args.flow, args.session)
      const [status, record] = await Promise.all([session.status(), session.record()])
      output.result({ ...status, record }, () => lines(status, record, output, { ...args, isFull: args.full ?? false }))
      return exitCodes.ok
    }
    return withTarget(args, output, work)
  },
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

export const flowsResume = command({
  args: {
    flow: { type: 'positional', required: true, description: "The flow's name" },
    session: { type: 'positional', required: true, description: "The session's id" },
    value: { type: 'positional', required: true, description: 'JSON; - reads stdin' },
    seq: { type: 'string', valueHint: 'seq', description: 'The suspension to answer; default: the first' },
    key: { type: 'string', description: 'Makes the command repeatable: the same key is the same answer' },
    ...workArgs,
    ...targetArgs,
  },
  about:
    "A suspension accepts one answer; a later one exits with code 4. Where the flow's code is, it checks the answer; elsewhere the schema in the log does.",
  examples: [
    [`flows resume import import-7 '{"go":true}'`, 'answer its first suspension'],
    ['flows resume import import-7 true --seq 4', 'answer one of several'],
  ],
  run: ({ args, output }) =>
    withTarget(
      args,
      output,
      async (target) => {
        const value = await readValue('The value', args.value)
        const seq = countOf('seq', args.seq)
        const options = { ...(seq === undefined ? {} : { seq }), ...(args.key ? { key: args.key } : {}) }
        return tellStanding(args.session, await target.flow(args.flow, args.session).resume(value, options), output)
      },
      { work: args.work ?? false },
    ),
})

/** Prints the standing of a session. A failed session exits with code 1. */
function tellStanding(id: string, standing: RemoteStanding, output: Output): ExitCode {
  output.result({ id, ...standing }, () => [told(id, standing, output)])
  return standing.status === 'failed' ? exitCodes.failed : exitCodes.ok
}

function told(id: string, standing: RemoteStanding, { colours }: Output): Printable {
  switch (standing.status) {
    case 'done':
      return safe`${id} is ${colours.green('done')}: ${excerpt(standing.result, false)}`
    case 'failed':
      return safe`${id} ${colours.red('failed')}: ${standing.error}`
    case 'waiting':
      return safe`${id} ${colours.yellow('waits')} for ${excerpt(standing.tag, false)}`
    case 'sleeping':
      return safe`${id} ${colours.yellow('sleeps')} until ${new Date(standing.wakeAt).toISOString()}`
    case 'dormant':
      return safe`${id} is a fork that does nothing until it is resumed or continued.`
    case 'running':
      return safe`${id} is recorded. A process that has the flow continues it; --work makes this one do so.`
  }
}
