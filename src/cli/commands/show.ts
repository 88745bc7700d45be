import type { UnknownEvent } from '../../base/errors/log-errors.ts'
import { packageVersion } from '../../base/errors/package-version.ts'
import { command } from '../command.ts'
import { countOf } from '../count-of.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Output } from '../output.ts'
import { withTarget } from '../target/open-target.ts'
import type { Target } from '../target/target.ts'
import { type TargetArgs, targetArgs } from '../target/target-args.ts'
import { type Printable, safe } from '../terminal/safe-text.ts'
import { ago } from '../terminal/time.ts'
import { commandLine } from '../transcript/command-line.ts'
import { messageLines } from '../transcript/message-lines.ts'
import { pendingLines } from '../transcript/pending-lines.ts'

export const show = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    turns: { type: 'string', valueHint: 'n', description: 'How many turns, the newest; default: 20' },
    before: { type: 'string', valueHint: 'seq', description: 'Only turns that began before this event' },
    full: { type: 'boolean', description: 'Show long arguments and results whole' },
    ...targetArgs,
  },
  about:
    'What people and the agent said, tools with their arguments and results, what waits and what to type, forks and child agents.',
  examples: [
    ['show ticket-42', 'the newest twenty turns'],
    ['show ticket-42 --turns 1 --full', 'the last turn, with everything'],
    ['show ticket-42 --json', 'for a script'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const shown = await read(target, args.conversation, {
        limit: countOf('turns', args.turns) ?? 20,
        before: countOf('before', args.before),
      })
      output.result(shown, () => lines(shown, output, args, args.full ?? false))
      return exitCodes.ok
    }),
})

type Shown = Awaited<ReturnType<typeof read>>

async function read(target: Target, id: string, { limit, before }: { limit: number; before: number | undefined }) {
  const conversation = target.conversation(id)
  const record = await conversation.record()
  const [view, history, forks] = await Promise.all([
    conversation.view(),
    conversation.history({ limit, ...(before === undefined ? {} : { before }) }),
    conversation.forks({ limit: 20 }),
  ])
  const { state, activity, pending, unknownEvent } = view
  return {
    ...record,
    state,
    activity,
    messages: history.messages,
    before: history.before,
    pending,
    ...(unknownEvent ? { unknownEvent } : {}),
    forks: forks.map((fork) => ({ id: fork.id, at: fork.parent?.at ?? null })),
  }
}

function lines(shown: Shown, { colours }: Output, args: TargetArgs, isFull: boolean): Printable[] {
  const { parent } = shown
  const style = { colours, isFull, agent: shown.agent ?? 'assistant', args }
  const heading = safe`${colours.bold(shown.id)}${shown.title ? `  ${shown.title}` : ''}`
  const stands = `${shown.agent ?? 'no agent'}, ${shown.activity ?? shown.state}, ${shown.lastSeq} events, updated ${ago(shown.updatedAt)}`
  const origin = parent
    ? [colours.dim(parent.callId ? `child of ${parent.id}` : `fork of ${parent.id} at ${parent.at}`)]
    : []
  const forks = shown.forks.map((fork) => colours.dim(`fork ${fork.id} at ${fork.at}`))
  const earlier =
    shown.before === null
      ? []
      : ['', colours.dim(`Earlier: ${commandLine(['show', shown.id, '--before', String(shown.before)], args)}`)]
  const waiting = shown.pending.flatMap((item) => pendingLines(shown.id, item, style))
  return [
    heading,
    colours.dim(stands),
    ...origin,
    ...forks,
    ...earlier,
    ...shown.messages.flatMap((message) => ['', ...messageLines(message, style)]),
    ...(waiting.length > 0 ? ['', ...waiting] : []),
    ...(shown.unknownEvent ? ['', colours.dim(unreadLine(shown.unknownEvent))] : []),
  ]
}

function unreadLine({ seq, type, needs }: UnknownEvent): string {
  return `Event ${seq} (${type}) and what follows need perdure ${needs ?? `later than ${packageVersion}`}.`
}
