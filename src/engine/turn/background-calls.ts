import { uuidV7 } from '../../base/uuid-v7.ts'
import { type LanguageModel, modelRef } from '../../define/language-model.ts'
import type { LogEvent } from '../../log/events.ts'
import { foldEvents } from '../../log/fold-events.ts'
import { settle } from '../../log/settle.ts'
import { baseOf, type ConversationState, emptyState, type TurnState } from '../../log/state.ts'
import { streamModel } from '../../model/stream-model.ts'
import { summaryText } from '../../prompt/assemble-prompt.ts'
import { summaryShare } from '../../prompt/budget/prompt-size.ts'
import { isSummarised, limitsOf, noReduction, type Reduction, type SummaryText } from '../../prompt/budget/reduce.ts'
import { seedText } from '../../prompt/render/render-context.ts'
import { transcript } from '../../prompt/render/transcript.ts'
import { changeFor } from '../../store/change.ts'
import { pagesAfter } from '../../store/log-pages.ts'
import { type Summary, usableBase } from '../../store/records.ts'
import { bound, loadWhole } from '../../store/working-sets.ts'
import { putFurthest } from '../put-summary.ts'
import { auditAttempts } from './audit.ts'
import { modelOutsideTurns } from './choose-model.ts'
import type { TurnContext } from './turn-context.ts'

/** Names the conversation outside its turns, once a turn has ended well. A title that failed is tried again after the next turn. */
export function startTitle(state: ConversationState, context: TurnContext): void {
  if (!needsTitle(state, context)) return
  const { node, ref } = context
  node.backgroundTasks.start('no title could be recorded', ref, (signal) => generateTitle(state, context, signal))
}

/** How much more there must be to sum up before a summary that failed is tried again. */
const growthBeforeNextTry = 0.25

/** Summarises these turns outside the running turn. */
export function startSummary(span: readonly TurnState[], lastSeq: number, context: TurnContext): void {
  const { node, ref, memory } = context
  const sinceSummary = lastSeq - (memory.latestSummary?.toSeq ?? 0)
  memory.summariseAtSeq = lastSeq + Math.ceil(sinceSummary * growthBeforeNextTry)
  memory.isSummarising = true
  node.backgroundTasks.start('no summary could be recorded', ref, async (signal) => {
    try {
      await summarise(span, lastSeq, context, signal)
    } finally {
      memory.isSummarising = false
    }
  })
}

export type Question = {
  readonly model: LanguageModel
  readonly system: string
  readonly text: string
  /** What the audit keeps it under. */
  readonly turnRef: string
  /** The seq up to which the log is in the question. */
  readonly seen: number
  readonly reduction?: Reduction
  /** The part of the answer that is used; empty if none is usable. */
  readonly read: (answer: string) => string
  /** The message that is logged in that case, and when there is no answer. */
  readonly onFailure: string
}

/** One question to a model outside the turns, without tools and watchers. Empty when nothing came of it. */
async function callModelOutsideTurn(
  { model, system, text, read, onFailure, ...audited }: Question,
  context: TurnContext,
  signal: AbortSignal,
): Promise<string> {
  const { agent, ref } = context
  const { clock, logger, redact } = context.node
  const prompt = [
    { role: 'system' as const, content: system },
    { role: 'user' as const, content: [{ type: 'text' as const, text }] },
  ]
  const audit = auditAttempts(context, { ...audited, prompt })
  const message = await streamModel(
    {
      models: [model],
      prompt,
      tools: [],
      settings: {},
      retry: agent.retry,
      timeouts: agent.timeouts,
      signal,
      clock,
      newCallId: () => uuidV7(clock.now()),
      onAttempt: audit.onAttempt,
      redact,
    },
    () => {},
  )
  await audit.written()
  const answer = read(message.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
  if (message.status === 'complete' && answer !== '') return answer
  if (message.status !== 'aborted') {
    logger.warn(onFailure, { ...ref, error: message.error ?? 'the model gave no text of use' })
  }
  return ''
}

const instructions =
  'Give this conversation a title of at most six words, in its own language. Answer with the title only.'
const longestTitle = 120
const longestTranscript = 8_000

function needsTitle(state: ConversationState, { agent, memory }: TurnContext): boolean {
  if (agent.title === null || state.title !== null || memory.isTitling) return false
  return state.turns.some((turn) => turn.end?.status === 'completed')
}

/** Nothing waits for a title, and it needs no lease, because the log takes one title only. */
async function generateTitle(state: ConversationState, context: TurnContext, signal: AbortSignal): Promise<void> {
  const { memory } = context
  memory.isTitling = true
  try {
    const title = await askForTitle(state, context, signal)
    if (title === '' || !(await record(title, context))) return
    const { agent, channel, scopes, store } = context
    const { tenant, id } = context.ref
    const { snapshots, workingSets } = context.node
    if (!snapshots) return
    // Of these results, only a title is announced before it is persisted.
    if (!channel.isUnused) await channel.refresh()
    const workingSet = await workingSets.loadWhole(store, tenant, id)
    await snapshots.persist('on_title_generated', {
      agentId: agent.name,
      conversationId: id,
      workingSet,
      scopes,
      store,
    })
  } finally {
    memory.isTitling = false
  }
}

/** Empty when there is none. */
async function askForTitle(state: ConversationState, context: TurnContext, signal: AbortSignal): Promise<string> {
  const { agent } = context
  const system = agent.title?.instructions ?? instructions
  const question = {
    model: agent.title?.model ?? (await modelOutsideTurns(context)),
    system,
    // As text: a prompt with calls in it is refused where no tools are offered.
    text: `${transcript(state.turns, longestTranscript)}\n\n${system}`,
    turnRef: `title/${state.turns.findLast((turn) => turn.end)?.turnId ?? ''}`,
    seen: state.lastSeq,
    read: titleFrom,
    onFailure: 'no title could be generated',
  }
  return callModelOutsideTurn(question, context, signal)
}

/** False when there is one already, or nothing to name any more. */
async function record(title: string, { store, ref: { id } }: TurnContext): Promise<boolean> {
  for (;;) {
    const { state: now } = await loadWhole(store, id, bound)
    const events = settle(now, { type: 'title', title })
    if (events.length === 0 || now.lastSeq === 0) return false
    if ((await store.commit(id, { ...changeFor(events, now), expectedSeq: now.lastSeq })).ok) return true
  }
}

function titleFrom(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/^["'«]+|["'»]+$/g, '')
    .slice(0, longestTitle)
}

const summaryInstructions = [
  'You keep the memory of a conversation between a user and an assistant.',
  'Write a summary that can stand in for the messages below: what the user wants, facts and numbers, decisions, what tools did and returned,',
  'what is promised or open. Keep names and ids exactly. Leave out pleasantries. Write in the language of the conversation.',
].join(' ')

/**
 * Summarises the oldest turns, concurrently with other work, into a summary that also stands for all before them. Any number of nodes may do
 * so at once: the one that reaches furthest counts. When it fails nothing is lost, and it is planned again when there is a good
 * part more of it.
 */
async function summarise(
  planned: readonly TurnState[],
  plannedOn: number,
  context: TurnContext,
  signal: AbortSignal,
): Promise<void> {
  const { store, memory, agent } = context
  const { id } = context.ref
  const { origin } = memory
  const stored = await store.latestSummary(id)
  const previous = summaryText(stored)
  const span = planned.filter((turn) => !isSummarised(turn, previous))
  const last = span.at(-1)
  if (!last?.end) return
  const text = agent.context.summarise === false ? previous?.text : await sumUp(span, previous, context, signal)
  if (text === '' && agent.context.summarise !== false) return
  const toSeq = last.end.seq
  const base = await baseAt(last, stored, context)
  const newest = await store.latestSummary(id)
  if (!base || (newest && newest.toSeq >= toSeq)) return
  const version = (newest?.version ?? 0) + 1
  if (!(await putFurthest(store, id, { fromSeq: 1, toSeq, content: text || null, version, base, plannedOn }))) return
  // Durable from here: revival reads nothing before `toSeq`.
  if (memory.origin !== origin) return
  memory.latestSummary = { toSeq, version, text: text ?? '' }
  memory.summariseAtSeq = 0
}

/** Empty when no summary could be made. */
async function sumUp(
  span: readonly TurnState[],
  previous: SummaryText | null,
  context: TurnContext,
  signal: AbortSignal,
): Promise<string> {
  const { agent } = context
  const settings = agent.context.summarise === false ? null : agent.context.summarise
  const model = await modelOutsideTurns(context)
  const { budget } = limitsOf(agent, modelRef(model))
  const words = Math.max(50, Math.floor(budget * summaryShare * wordsPerToken))
  const before = previous ? previous.text : await seedOf(context)
  const earlier = before === '' ? '' : `Summary so far:\n${before}\n\n`
  const messages = transcript(span, budget * charactersPerToken * 2)
  const ask = `${earlier}Messages to add to the summary:\n${messages}\n\nWrite the new summary of all of it, in at most ${words} words.`
  const last = span.at(-1)!
  const question = {
    model: settings?.model ?? model,
    system: settings?.instructions ?? summaryInstructions,
    text: ask,
    turnRef: `summary/${last.turnId}`,
    seen: last.end!.seq,
    reduction: { ...noReduction, summary: previous },
    // One that did not keep to its length must not take the room it was made for.
    read: (answer: string) => answer.trim().slice(0, budget * summaryShare * charactersPerToken * 3),
    onFailure: 'no summary could be made; trying again later',
  }
  return callModelOutsideTurn(question, context, signal)
}

/** The first summary stands for what the conversation was seeded with, too. */
async function seedOf({ store, ref: { id } }: TurnContext): Promise<string> {
  const [first] = await store.streamEvents(id, { before: 2 })
  return first?.type === 'seeded' ? seedText(first.content.state) : ''
}

const wordsPerToken = 0.6
const charactersPerToken = 4

/** Title and unfinished turns where that turn ended, from the log itself; null when the log is not the one it was in. */
async function baseAt(
  { turnId, end }: TurnState,
  stored: Summary | null,
  { store, ref: { id } }: TurnContext,
): Promise<ConversationState | null> {
  let base = (stored && usableBase(stored)) ?? emptyState
  let last: LogEvent | null = null
  for await (const { events } of pagesAfter(store, id, { after: base.lastSeq, before: end!.seq + 1 })) {
    const read = [...events]
    last = read.at(-1) ?? last
    base = baseOf(foldEvents(read, base))
  }
  return last?.seq === end!.seq && last.type === 'turn_ended' && last.content.turnId === turnId ? base : null
}
