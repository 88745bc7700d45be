import type { ContextMemory } from '../context/context-memory.ts'
import { estimateTokens } from '../context/count-tokens.ts'
import { PromptSize } from '../context/prompt-size.ts'
import { budgetOf, reducedShare } from '../context/reduce.ts'
import { type SummaryText, textOfSummary } from '../context/reduction.ts'
import { transcript } from '../context/transcript.ts'
import { isInWindow, isSummarised } from '../context/window.ts'
import { uuidV7 } from '../id/uuid-v7.ts'
import { foldEvents } from '../log/fold-events.ts'
import { baseOf, type ConversationState, emptyState, type TurnState } from '../log/state.ts'
import { modelRef } from '../model/language-model.ts'
import { streamModel } from '../model/stream-model.ts'
import { auditAttempts } from './audit.ts'
import type { TurnContext } from './turn-context.ts'

const instructions = [
  'You keep the memory of a conversation between a user and an assistant.',
  'Write a summary that can stand in for the messages below: what the user wants, facts and numbers, decisions, what tools did and returned,',
  'what is promised or open. Keep names and ids exactly. Leave out pleasantries. Write in the language of the conversation.',
].join(' ')

/** Summarising begins before the budget is full, so that the summary is at hand when the reduction comes. */
export const summariseShare = 0.8

/** Sums up the oldest turns, down to where a reduction would cut, beside whatever else goes on. Tried again at the next model call when it fails. */
export async function summarise(
  state: ConversationState,
  context: TurnContext,
  memory: ContextMemory,
  signal: AbortSignal,
): Promise<void> {
  const span = oldestSpan(state, context, memory)
  const toSeq = span.at(-1)?.end?.seq
  if (toSeq === undefined) return
  const previous = memory.latestSummary ?? null
  const text = context.agent.context.summarise === false ? null : await summaryOf(span, previous, context, signal)
  if (text === '') return
  const base = await baseAt(toSeq, context)
  const version = (previous?.version ?? 0) + 1
  await context.store.putSummary(context.id, { fromSeq: 1, toSeq, content: text, version, base })
  // Durable from here: revival reads nothing before `toSeq`.
  memory.latestSummary = { toSeq, version, text: text ?? '' }
}

/** The ended turns, oldest first, that must go for the rest to be within the reduced budget. Only as far as no turn is open across their end. */
function oldestSpan(
  state: ConversationState,
  { agent }: TurnContext,
  { reduction, calibration, latestSummary, turnSizes }: ContextMemory,
): TurnState[] {
  const { context: settings, model } = agent
  const size = new PromptSize(settings.tokenizer ?? estimateTokens, modelRef(model), 0, turnSizes)
  const open = state.turns.filter((turn) => turn.opened && !isSummarised(turn, latestSummary ?? null))
  const tokens = (turn: TurnState) =>
    isInWindow(turn, reduction) ? size.ofTurn(turn, reduction) * calibration.factor : 0
  let rest = open.reduce((total, turn) => total + tokens(turn), 0)
  const span: TurnState[] = []
  for (const turn of open) {
    const isOverWindow = open.length - span.length > settings.windowTurns
    if (!turn.end || (rest <= budgetOf(settings) * reducedShare && !isOverWindow)) break
    span.push(turn)
    rest -= tokens(turn)
  }
  return span
}

async function summaryOf(
  span: readonly TurnState[],
  previous: SummaryText | null,
  context: TurnContext,
  signal: AbortSignal,
): Promise<string> {
  const { agent, clock, logger, tenant, id } = context
  const settings = agent.context.summarise === false ? null : agent.context.summarise
  const earlier = previous?.text ? `Summary so far:\n${previous.text}\n\n` : ''
  const ask = `${earlier}Messages to add to the summary:\n${transcript(span)}`
  const prompt = [
    { role: 'system' as const, content: settings?.instructions ?? instructions },
    { role: 'user' as const, content: [{ type: 'text' as const, text: ask }] },
  ]
  const audit = auditAttempts(context, {
    turnRef: `summary/${span.at(-1)?.turnId ?? ''}`,
    kind: 'summary',
    prompt,
    seen: 0,
  })
  const message = await streamModel(
    {
      models: [settings?.model ?? agent.model],
      prompt,
      tools: [],
      settings: {},
      retry: agent.retry,
      signal,
      clock,
      newCallId: () => uuidV7(clock.now()),
      onAttempt: audit.onAttempt,
    },
    () => {},
  )
  await audit.written()
  const text = message.parts
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
    .trim()
  if (message.status === 'complete' && text !== '') return text
  if (message.status !== 'aborted')
    logger.warn('no summary could be made; trying again later', { tenant, id, error: message.error })
  return ''
}

/** Title and unfinished turns at that point, from the log itself. */
async function baseAt(toSeq: number, { store, id }: TurnContext): Promise<ConversationState> {
  const { summary } = await store.loadSince(id)
  const from = summary?.base && summary.toSeq <= toSeq ? summary.base : emptyState
  const events = await store.streamEvents(id, { after: from.lastSeq, before: toSeq + 1 })
  return baseOf(foldEvents(events, from))
}

export function summaryText(
  summary: { toSeq: number; version: number; content: Parameters<typeof textOfSummary>[0] } | null,
): SummaryText | null {
  if (!summary) return null
  return {
    toSeq: summary.toSeq,
    version: summary.version,
    text: summary.content === null ? '' : textOfSummary(summary.content),
  }
}
