import { modelRef } from '../../define/language-model.ts'
import type { LogEvent } from '../../log/events.ts'
import { foldEvents } from '../../log/fold-events.ts'
import { baseOf, type ConversationState, emptyState, type TurnState } from '../../log/state.ts'
import { limitsOf } from '../../prompt/budget/limits.ts'
import { summaryShare } from '../../prompt/budget/plan-summary.ts'
import { summaryText } from '../../prompt/context-memory.ts'
import { isSummarised, noReduction, type SummaryText } from '../../prompt/render/reduction.ts'
import { seedText } from '../../prompt/render/render-seed.ts'
import { transcript } from '../../prompt/render/transcript.ts'
import { pagesAfter } from '../../store/log-pages.ts'
import { type Summary, usableBase } from '../../store/summary.ts'
import { askBeside } from './ask-beside.ts'
import type { TurnContext } from './turn-context.ts'

const instructions = [
  'You keep the memory of a conversation between a user and an assistant.',
  'Write a summary that can stand in for the messages below: what the user wants, facts and numbers, decisions, what tools did and returned,',
  'what is promised or open. Keep names and ids exactly. Leave out pleasantries. Write in the language of the conversation.',
].join(' ')

/**
 * Sums up the oldest turns, beside whatever else goes on, into a summary that also stands for all before them. Any number of nodes may do
 * so at once: the one that reaches furthest counts. When it fails nothing is lost, and it is planned again when there is a good
 * part more of it.
 */
export async function summarise(
  planned: readonly TurnState[],
  context: TurnContext,
  signal: AbortSignal,
): Promise<void> {
  const { store, id, memory, agent } = context
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
  await store.putSummary(id, { fromSeq: 1, toSeq, content: text || null, version, base })
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
  const { budget } = limitsOf(agent, modelRef(agent.model))
  const words = Math.max(50, Math.floor(budget * summaryShare * wordsPerToken))
  const before = previous ? previous.text : await seedOf(context)
  const earlier = before === '' ? '' : `Summary so far:\n${before}\n\n`
  const messages = transcript(span, budget * charactersPerToken * 2)
  const ask = `${earlier}Messages to add to the summary:\n${messages}\n\nWrite the new summary of all of it, in at most ${words} words.`
  const last = span.at(-1)!
  const question = {
    model: settings?.model ?? agent.model,
    system: settings?.instructions ?? instructions,
    text: ask,
    turnRef: `summary/${last.turnId}`,
    seen: last.end!.seq,
    reduction: { ...noReduction, summary: previous },
    // One that did not keep to its length must not take the room it was made for.
    read: (answer: string) => answer.trim().slice(0, budget * summaryShare * charactersPerToken * 3),
    onFailure: 'no summary could be made; trying again later',
  }
  return askBeside(question, context, signal)
}

/** The first summary stands for what the conversation was seeded with, too. */
async function seedOf({ store, id }: TurnContext): Promise<string> {
  const [first] = await store.streamEvents(id, { before: 2 })
  return first?.type === 'seeded' ? seedText(first.content.state) : ''
}

const wordsPerToken = 0.6
const charactersPerToken = 4

/** Title and unfinished turns where that turn ended, from the log itself; null when the log is not the one it was in. */
async function baseAt(
  { turnId, end }: TurnState,
  stored: Summary | null,
  { store, id }: TurnContext,
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
