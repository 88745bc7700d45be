import { NoModelCallsError } from '../../base/errors/cli-errors.ts'
import type { UnknownEvent } from '../../base/errors/log-errors.ts'
import { packageVersion } from '../../base/errors/perdure-error.ts'
import type { RemoteConversation } from '../../client/conversation.ts'
import type { NoteItem } from '../../log/state.ts'
import { type ShapedBy, shapedIn, warningsIn } from '../../prompt/explain.ts'
import type { HistoryPage } from '../../runtime/read/history.ts'
import type { View, ViewMessage } from '../../view/view.ts'
import { command, countOf, exitCodes } from '../command.ts'
import type { Output } from '../output.ts'
import { type Target, withTarget } from '../target/open-target.ts'
import { type TargetArgs, targetArgs } from '../target/target-args.ts'
import { ago, type Printable, safe, safely, table } from '../terminal/text.ts'
import { commandLine } from '../transcript/command-line.ts'
import { pendingLines } from '../transcript/pending-lines.ts'
import { type Paper, Transcript } from '../transcript/transcript.ts'
import { eventText, messageLines, noteLine } from '../transcript/view-lines.ts'

export const show = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    turns: { type: 'string', valueHint: 'n', description: 'How many of the newest turns; default: 20' },
    before: { type: 'string', valueHint: 'seq', description: 'Only turns that began before this event' },
    full: { type: 'boolean', description: 'Print long arguments and results whole' },
    ...targetArgs,
  },
  about:
    'Prints messages, notes, tools with their arguments and results, waiting calls with the commands that answer them, forks and child agents.',
  examples: [
    ['show ticket-42', 'the newest twenty turns'],
    ['show ticket-42 --turns 1 --full', 'the last turn, with everything'],
    ['show ticket-42 --json', 'for a script'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const { view, ...shown } = await read(target, args.conversation, {
        limit: countOf('turns', args.turns) ?? 20,
        before: countOf('before', args.before),
      })
      output.result(shown, () => lines(shown, view, output, { ...args, isFull: args.full ?? false }))
      return exitCodes.ok
    }),
})

type Shown = Omit<Awaited<ReturnType<typeof read>>, 'view'>

async function read(target: Target, id: string, { limit, before }: { limit: number; before: number | undefined }) {
  const conversation = target.conversation(id)
  const record = await conversation.record()
  const [view, history, forks] = await Promise.all([
    conversation.view(),
    newestTurns(conversation, limit, before),
    conversation.forks({ limit: 20 }),
  ])
  const { phase, state, activity, pending, problem, unknownEvent } = view
  return {
    view,
    ...record,
    phase,
    state,
    activity,
    messages: history.messages,
    notes: history.notes,
    before: history.before,
    pending,
    ...(problem ? { problem } : {}),
    ...(unknownEvent ? { unknownEvent } : {}),
    forks: forks.map((fork) => ({ id: fork.id, at: fork.parent?.at ?? null })),
  }
}

/** The most turns that a server reads at once. */
const mostTurns = 100

async function newestTurns(conversation: RemoteConversation, turns: number, before: number | undefined) {
  const messages: ViewMessage[] = []
  const notes: NoteItem[] = []
  for (let [left, cursor] = [turns, before ?? null]; ; left -= mostTurns) {
    const limit = Math.min(left, mostTurns)
    const page: HistoryPage = await conversation.history({ limit, ...(cursor === null ? {} : { before: cursor }) })
    messages.unshift(...page.messages)
    notes.unshift(...page.notes)
    cursor = page.before
    if (cursor === null || left <= mostTurns) return { messages, notes, before: cursor }
  }
}

function lines(
  shown: Shown,
  view: View,
  { colours }: Output,
  { isFull, ...args }: TargetArgs & { readonly isFull: boolean },
): Printable[] {
  const { id, parent, agent, title, activity, phase, lastSeq, updatedAt } = shown
  const { bold, dim } = colours
  const origin = parent ? [dim(parent.callId ? `child of ${parent.id}` : `fork of ${parent.id} at ${parent.at}`)] : []
  const earlier = commandLine(['show', id, '--before', String(shown.before)], args)
  const style = { colours, isFull, agent: agent ?? 'assistant', answerOn: args }
  const waiting = shown.pending.flatMap((item) => pendingLines(item, view, style))
  return [
    safe`${bold(id)}${title ? `  ${title}` : ''}`,
    dim(`${agent ?? 'no agent'}, ${activity ?? phase}, ${lastSeq} events, updated ${ago(updatedAt)}`),
    ...origin,
    ...shown.forks.map((fork) => dim(`fork ${fork.id} at ${fork.at}`)),
    ...(shown.before === null ? [] : ['', dim(`Earlier: ${earlier}`)]),
    ...inOrder(shown).flatMap((item) => [
      '',
      ...('role' in item ? messageLines(item, style) : [noteLine(item, style)]),
    ]),
    ...(waiting.length > 0 ? ['', ...waiting] : []),
    ...(view.problem ? ['', colours.yellow(view.problem.message)] : []),
    ...(shown.unknownEvent ? ['', dim(unreadLine(shown.unknownEvent))] : []),
  ]
}

/** Messages and notes, each at its place in the log. */
function inOrder({ messages, notes }: Shown): (ViewMessage | NoteItem)[] {
  return [...messages, ...notes].sort((one, other) => one.seq - other.seq)
}

function unreadLine({ seq, type, needs }: UnknownEvent): string {
  return `Event ${seq} (${type}) and what follows need perdure ${needs ?? `later than ${packageVersion}`}.`
}

export const tail = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    after: {
      type: 'string',
      valueHint: 'seq',
      description: 'Begin after this event instead of with the last turn',
    },
    full: { type: 'boolean', description: 'Print long arguments and results whole' },
    ...targetArgs,
  },
  about:
    'Reconnects by itself. Text from a server appears as it is written; text from a store that another process works on appears as whole messages.',
  examples: [
    ['tail ticket-42', 'the last turn, then new events; Ctrl-C ends it'],
    ['tail ticket-42 --after 12 --json', 'every event after the 12th, one per line'],
  ],
  run: ({ args, output, interrupted }) =>
    withTarget(args, output, async (target) => {
      const after = countOf('after', args.after, 0)
      const conversation = target.conversation(args.conversation)
      const { agent } = await conversation.record()
      const signal = interrupted()
      let seq = after ?? 0
      if (output.isJson) {
        const from = after === undefined ? {} : { after }
        for await (const { id, event } of conversation.watch({ ...from, signal })) output.item({ id, event }, () => [])
      } else {
        const paper = outputPaper(output)
        const options = { agent: agent ?? 'assistant', after, isFull: args.full ?? false, answerOn: args }
        const transcript = new Transcript(paper, { ...options, earlierTurns: 1, tellsAll: true })
        for await (const view of conversation.views({ signal })) {
          transcript.update(view)
          seq = view.seq
        }
        paper.closeLine()
        output.note(`\nContinue with: ${commandLine(['tail', args.conversation, '--after', String(seq)], args)}`)
      }
      return signal.aborted ? exitCodes.interrupted : exitCodes.ok
    }),
})

/** Writes at once and breaks no lines: a pipe gets text as it comes. */
function outputPaper({ colours, write }: Output): Paper {
  let isInLine = false
  const closeLine = (): void => {
    if (isInLine) write('\n')
    isInLine = false
  }
  return {
    colours,
    print(...lines) {
      closeLine()
      for (const line of lines) write(safe`${line}\n`)
    },
    append(text) {
      write(text)
      isInLine ||= safely(text) !== ''
    },
    closeLine,
  }
}

export const explain = command({
  args: {
    conversation: { type: 'positional', required: true, description: 'Its id' },
    call: { type: 'string', valueHint: 'turnRef', description: 'Which model call; default: the last' },
    calls: { type: 'boolean', description: 'List the model calls instead' },
    ...targetArgs,
  },
  about: 'The answer to "why did it forget that?". Needs an agent whose audit is not off.',
  examples: [
    ['explain ticket-42', 'how each event appeared in the last prompt'],
    ['explain ticket-42 --calls', 'the model calls'],
    ['explain ticket-42 --call 0197…/2 --json', 'one of them, for a script'],
  ],
  run: ({ args, output }) =>
    withTarget(args, output, async (target) => {
      const { bold, dim, yellow } = output.colours
      const conversation = target.conversation(args.conversation)
      const modelCalls = (await conversation.modelCalls()).toSorted((one, other) => one.at - other.at)
      const last = modelCalls.at(-1)
      if (!last) throw new NoModelCallsError(args.conversation)
      if (args.calls) {
        const rows = modelCalls.map((call) => [call.turnRef, call.status, modelName(call.model), ago(call.at)])
        output.result({ modelCalls }, () => table(['CALL', 'STATUS', 'MODEL', 'AT'].map(bold), rows, output.width))
        return exitCodes.ok
      }
      const turnRef = args.call ?? last.turnRef
      const explanations = await conversation.explain(turnRef)
      const made = modelCalls.findLast((call) => call.turnRef === turnRef) ?? { evictions: null, model: null }
      const [shaped, warnings] = [shapedIn(made), warningsIn(made)]
      const texts = output.isJson ? new Map<number, string>() : await textsOf(conversation)
      output.result({ turnRef, explanations, shaped, warnings }, () => {
        const rows = explanations.map(({ seq, type, shown, why }) => [
          String(seq),
          type,
          shown === 'verbatim' ? shown : shown === 'not_shown' ? dim(shown) : yellow(shown),
          why,
          texts.get(seq) ?? '',
        ])
        return [
          dim(`model call ${turnRef}`),
          ...shaped.map((by) => yellow(shapedText(by))),
          ...warnings.map((warning) => yellow(`the provider warned: ${warning}`)),
          ...table(['SEQ', 'EVENT', 'SHOWN', 'WHY', 'WHAT'].map(bold), rows, output.width),
        ]
      })
      if (modelCalls.length > 1)
        output.note(`Other calls: ${commandLine(['explain', args.conversation, '--calls'], args)}`)
      return exitCodes.ok
    }),
})

/** The text of each event, by its seq. */
async function textsOf(conversation: RemoteConversation): Promise<Map<number, string>> {
  const texts = new Map<number, string>()
  for await (const events of conversation.eventPages({ after: 0 })) {
    for (const event of events) texts.set(event.seq, eventText(event))
  }
  return texts
}

/** What a hook changed of a call, on one line. */
function shapedText({ hook, messages, tools, settings }: ShapedBy): string {
  const changes = [
    ...(messages === undefined ? [] : [`gave ${messages} messages`]),
    ...(tools === undefined ? [] : [tools.length > 0 ? `left the tools ${tools.join(', ')}` : 'left no tools']),
    ...(settings === undefined ? [] : [`made the settings ${JSON.stringify(settings)}`]),
  ]
  return `the hook '${hook}' ${changes.join(', ')}`
}

function modelName(model: unknown): string {
  const { provider = '', modelId = '' } = Object(model) as { provider?: unknown; modelId?: unknown }
  return `${String(provider)} ${String(modelId)}`.trim()
}
