import { readOptions } from '../../base/errors/read-options.ts'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import type { Json } from '../../base/json.ts'
import { abridgeEvent } from '../../log/abridge.ts'
import { callPhase } from '../../log/call-phase.ts'
import { decode, encode } from '../../log/codec.ts'
import type { LogEvent } from '../../log/events.ts'
import { foldEvents } from '../../log/fold-events.ts'
import { type CallState, type ConversationState, emptyState, type TurnItem, type TurnState } from '../../log/state.ts'
import {
  type Eviction,
  type Explanation,
  explain,
  seenBy,
  type Withdrawal,
  withdrawalsIn,
} from '../../prompt/explain.ts'
import { checkWhole } from '../../store/checks.ts'
import { pagesAfter } from '../../store/log-pages.ts'
import type { ModelCall } from '../../store/records.ts'
import type { EventPage, TenantStore } from '../../store/store.ts'

/** A page of explanations. */
export type ExplanationPage = {
  readonly explanations: readonly Explanation[]
  /** Pass it to get the page after this one; null when there is none. */
  readonly after: number | null
}

export type ExplainRange = { readonly after?: number; readonly limit?: number }

const eventsAtOnce = 10_000

/** How each event of a log was in the prompt of a model call. */
export async function explainLog(
  store: TenantStore,
  id: string,
  call: Pick<ModelCall, 'evictions'>,
): Promise<Explanation[]> {
  const all: Explanation[] = []
  for (let after: number | null = 0; after !== null; ) {
    const page: ExplanationPage = await explainPage(store, id, call, { after, limit: eventsAtOnce })
    for (const explanation of page.explanations) all.push(explanation)
    after = page.after
  }
  return all
}

/** The same of some events. Reads the log up to what the call saw, and holds of it only what the page is about, without what is long. */
export async function explainPage(
  store: TenantStore,
  id: string,
  call: Pick<ModelCall, 'evictions'>,
  range?: ExplainRange,
): Promise<ExplanationPage> {
  const { after, limit } = readExplainRange(range)
  const seen = seenBy(call)
  const events: LogEvent[] = []
  for await (const read of pagesAfter(store, id, {
    after,
    before: Math.min(after + limit + 1, Number.MAX_SAFE_INTEGER),
  })) {
    events.push(...abridged(read))
  }
  const last = events.at(-1)?.seq ?? after
  let state = emptyState
  const withdrawn: Withdrawal[] = []
  for await (const read of pagesAfter(store, id, seen === null ? {} : { before: seen + 1 })) {
    const events = abridged(read)
    withdrawn.push(...withdrawalsIn(events))
    state = about(foldEvents(events, state), after, last)
  }
  return { explanations: explain(events, call, state, withdrawn), after: events.length === limit ? last : null }
}

function abridged({ events }: EventPage): LogEvent[] {
  return Array.from(events, abridgeEvent)
}

export function readExplainRange(given: ExplainRange | undefined): Required<ExplainRange> {
  const { after = 0, limit = 1_000 } = readOptions('range', given, ['after', 'limit'])
  checkWhole('after', after, 0)
  checkWhole('limit', limit, 1)
  return { after, limit }
}

/** The parts of a state that come from the events `after` to `last`, that are still open, or that replaced such events later. */
function about(state: ConversationState, after: number, last: number): ConversationState {
  const turns = state.turns
    .filter(({ end, firstSeq, replaced }) => !end || (end.seq > after && (firstSeq <= last || replaced)))
    .map((turn) => ofRange(turn, after, last))
  return { ...state, turns }
}

function ofRange(turn: TurnState, after: number, last: number): TurnState {
  const isMeant = (seq: number): boolean => seq > after && seq <= last
  // The event that sent a message back may be on the page after the message.
  const isSentBack = (item: TurnItem): boolean => item.type === 'assistant' && item.regeneration !== null
  const items = turn.items.filter(
    (item, index) => isMeant(item.seq) || isSentBack(item) || index === turn.items.length - 1,
  )
  const calls = turn.calls.filter((call) => callPhase(call).type !== 'ended' || seqsOf(call).some(isMeant))
  return { ...turn, items, calls }
}

function seqsOf({ seq, startedSeq, rounds, result }: CallState): number[] {
  return [seq, startedSeq, ...rounds.flatMap((round) => [round.seq, round.resolution?.seq ?? 0]), result?.seq ?? 0]
}

/** What a model call left out, as its audit row has it. A copy, which is plain JSON of the right shape. */
export function readEvictions(given: Pick<ModelCall, 'evictions'>): Json {
  const { evictions = null } = readOptions('model call', given, ['evictions'])
  const copy = decode(encode(evictions, 'evictions'))
  if (copy !== null && !isEvictions(copy)) {
    throw new InvalidArgumentError('evictions', 'are not those of a model call; pass one of modelCalls()')
  }
  return copy
}

function isEvictions(value: Json): boolean {
  const { seen = 0, evicted = [] } = Object(value) as { seen?: unknown; evicted?: unknown }
  return typeof seen === 'number' && Array.isArray(evicted) && evicted.every(isEviction)
}

function isEviction(value: unknown): value is Eviction {
  return typeof value === 'object' && value !== null
}
