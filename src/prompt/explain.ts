import type { Json, JsonObject } from '../base/json.ts'
import { callEnd } from '../log/call-phase.ts'
import type { EventOf, LogEvent } from '../log/events.ts'
import { callPosition } from '../log/fold-call.ts'
import type { CallState, ConversationState, TurnState } from '../log/state.ts'
import type { ModelCall } from '../store/records.ts'
import type { Reduction } from './budget/reduce.ts'

/** How one event appeared in a prompt. */
export type Explanation = {
  readonly seq: number
  readonly type: string
  /** `shaped`: a hook decided which messages the model saw. */
  readonly shown: 'verbatim' | 'stubbed' | 'summarised' | 'outside_window' | 'not_shown' | 'shaped'
  readonly why: string
}

type Shown = Pick<Explanation, 'shown' | 'why'>

/** What a hook changed of one model call, as its audit row has it: how many messages it gave, and tools and settings as they were then. */
export type ShapedBy = {
  readonly hook: string
  readonly messages?: number
  readonly tools?: readonly string[]
  readonly settings?: JsonObject
}

/** The last event that a call could see. Null when its audit row does not say. */
export function seenBy(call: Pick<ModelCall, 'evictions'>): number | null {
  return (call.evictions as { seen?: number } | null)?.seen ?? null
}

/**
 * Answers "why did it forget that?": how each event appeared in the prompt of a model call, from the call's audit row.
 * `state` is the fold of the log up to what the call saw, and must contain the turns of these events. `withdrawn`: where turns were replaced up to there. Default:
 * what these events say of it. Pure.
 */
export function explain(
  events: readonly LogEvent[],
  call: Pick<ModelCall, 'evictions'>,
  state: ConversationState,
  withdrawn: readonly Withdrawal[] = withdrawalsIn(events),
): Explanation[] {
  const { evicted = [] } = (call.evictions ?? {}) as { evicted?: Eviction[] }
  // The last hook that gave messages counts.
  const shaping = shapedIn(call).findLast(({ messages }) => messages !== undefined)?.hook ?? null
  const seen = seenBy(call) ?? Number.POSITIVE_INFINITY
  const turnOf = turnFinder(state)
  const listed = listedCalls(state)
  return events.map((event) => {
    const { seq, type } = event
    if (seq > seen) return { seq, type, shown: 'not_shown', why: 'it came after this call' }
    if (event.type === 'seeded') return { seq, type, ...unlessShaped(ofSeed(evicted), shaping) }
    const turn = turnOf(event)
    const by = withdrawn.find((mark) => mark.seq <= seen && isWithdrawn(event, turn, mark))
    if (by) return { seq, type, ...unlessShaped(ofWithdrawn(event, by, listed, evicted), shaping) }
    const shown = turn ? (ofTurn(turn, evicted) ?? ofEvent(event, turn, evicted)) : notInPrompt
    return { seq, type, ...unlessShaped(shown, shaping) }
  })
}

/** The turns that began from `fromSeq` on and before `seq` were replaced. */
export type Withdrawal = { readonly fromSeq: number; readonly seq: number }

/** The withdrawals among these events. */
export function withdrawalsIn(events: Iterable<LogEvent>): Withdrawal[] {
  const found: Withdrawal[] = []
  for (const { type, content, seq } of events) if (type === 'superseded') found.push({ fromSeq: content.fromSeq, seq })
  return found
}

/** A turn that was withdrawn is not in the state, unless the state has only a part of the log. */
function isWithdrawn(event: LogEvent, turn: TurnState | undefined, { fromSeq, seq }: Withdrawal): boolean {
  const begun = turn?.firstSeq ?? (nameIn(event) === '' ? 0 : event.seq)
  return begun >= fromSeq && begun < seq && event.seq < seq
}

function nameIn({ content }: LogEvent): string {
  const { turnId, callId, messageId } = content as { turnId?: string; callId?: string; messageId?: string }
  return turnId ?? callId ?? messageId ?? ''
}

type Listed = { readonly turn: TurnState; readonly call: CallState }

/** The calls of withdrawn turns, each with the turn that lists it. */
function listedCalls({ turns }: ConversationState): Map<string, Listed> {
  const listed = turns.flatMap((turn) =>
    (turn.replaced?.calls ?? []).map((call) => [call.callId, { turn, call }] as const),
  )
  return new Map(listed)
}

/** What a withdrawn turn did is listed before the message in its place, as long as that turn is in the window. */
function ofWithdrawn(
  event: LogEvent,
  { seq }: Withdrawal,
  listed: ReadonlyMap<string, Listed>,
  evicted: readonly Eviction[],
): Shown {
  const why = `its turn was replaced at ${seq}`
  if (event.type !== 'tool_call' && event.type !== 'tool_result' && event.type !== 'resolution')
    return { shown: 'not_shown', why }
  const found = listed.get(event.content.callId)
  if (!found) return { shown: 'not_shown', why }
  const told = event.type === 'tool_call' ? verbatim : ofEnd(event, found.call, [])
  if (told.shown !== 'verbatim') return told
  const listing = ofTurn(found.turn, evicted)
  return listing ?? { shown: 'verbatim', why: `${why}; the call is listed before the message in its place` }
}

/** What hooks changed of a model call, in their order, as its audit row has it. */
export function shapedIn({ evictions }: Pick<ModelCall, 'evictions'>): readonly ShapedBy[] {
  const { shaped } = Object(evictions) as { shaped?: unknown }
  if (!Array.isArray(shaped)) return []
  return (shaped as readonly unknown[]).filter(
    (by): by is ShapedBy => typeof (Object(by) as Partial<ShapedBy>).hook === 'string',
  )
}

/** What the provider warned of when the call was made, as its audit row has it. */
export function warningsIn({ model }: Pick<ModelCall, 'model'>): readonly string[] {
  const { warnings } = Object(model) as { warnings?: unknown }
  return Array.isArray(warnings) ? warnings.filter((warning) => typeof warning === 'string') : []
}

function unlessShaped(shown: Shown, hook: string | null): Shown {
  if (hook === null || shown.shown === 'not_shown') return shown
  return { shown: 'shaped', why: `the hook '${hook}' decided which messages the model saw` }
}

const verbatim: Shown = { shown: 'verbatim', why: 'its turn is in the window' }
const notInPrompt: Shown = { shown: 'not_shown', why: 'events of this type are not part of a prompt' }

function ofSeed(evicted: readonly Eviction[]): Shown {
  const putAway = evicted.find((eviction) => 'toSeq' in eviction)
  if (putAway) return { shown: putAway.shown, why: putAway.why }
  return { shown: 'verbatim', why: 'it is rendered before the first turn' }
}

/** Null when the turn is in the window. */
function ofTurn(turn: TurnState, evicted: readonly Eviction[]): Shown | null {
  if (!turn.opened) return { shown: 'not_shown', why: 'its turn was queued' }
  for (const eviction of evicted) {
    const { shown, why } = eviction
    if ('toSeq' in eviction && turn.end && turn.end.seq <= eviction.toSeq) return { shown, why }
    if ('beforeSeq' in eviction && turn.end && turn.firstSeq < eviction.beforeSeq) return { shown, why }
  }
  return null
}

function ofEvent(event: LogEvent, turn: TurnState, evicted: readonly Eviction[]): Shown {
  switch (event.type) {
    case 'user_msg':
      return ofParts(event.content.message.parts)
    case 'injection':
      return ofParts(event.content.parts)
    case 'assistant_msg':
      return ofAssistant(event, turn)
    case 'tool_call':
      return verbatim
    case 'regeneration':
      return { shown: 'verbatim', why: 'its feedback replaces the message' }
    case 'resolution':
    case 'tool_result': {
      const call = turn.calls[callPosition(turn.calls, event.content.callId)]
      return call ? ofEnd(event, call, evicted) : notInPrompt
    }
    default:
      return notInPrompt
  }
}

function ofAssistant({ seq, content }: EventOf<'assistant_msg'>, turn: TurnState): Shown {
  const item = turn.items.find((candidate) => candidate.seq === seq)
  if (item?.type === 'assistant' && item.regeneration) return { shown: 'not_shown', why: 'it was regenerated' }
  if (item?.type === 'assistant' && item.withheld) {
    return { shown: 'not_shown', why: `it was withheld: the hook '${item.withheld.hook}' did not pass it` }
  }
  const { parts, status } = content
  const hidden = status === 'complete' ? ['reasoning', 'source', 'plain_call'] : ['source']
  const isEmpty = parts.every((part) => hidden.includes(part.type) || isBlank(part))
  if (isEmpty) return { shown: 'not_shown', why: 'it has no content to show' }
  return status === 'complete' ? verbatim : { shown: 'verbatim', why: `it is marked as cut off: ${status}` }
}

/**
 * The event that ended a call is its result in the prompt. Other resolutions appear only if a person edited the
 * arguments.
 */
function ofEnd(event: EventOf<'resolution' | 'tool_result'>, call: CallState, evicted: readonly Eviction[]): Shown {
  const isEdit = event.type === 'resolution' && event.content.edited !== undefined
  const isEnd = callEnd(call) !== null && event.seq === endSeq(call)
  if (!isEnd && !isEdit) return notInPrompt
  const stub = evicted.find((eviction) => eviction.shown === 'stubbed' && eviction.callId === call.callId)
  return stub ? { shown: 'stubbed', why: stub.why } : verbatim
}

function endSeq(call: CallState): number {
  return call.result?.seq ?? call.rounds.at(-1)?.resolution?.seq ?? 0
}

function ofParts(parts: readonly { readonly type: string; readonly text?: string }[]): Shown {
  return parts.every(isBlank) ? { shown: 'not_shown', why: 'it is empty' } : verbatim
}

function isBlank(part: { readonly type: string; readonly text?: string }): boolean {
  return part.type === 'text' && (part.text ?? '').trim() === ''
}

function turnFinder(state: ConversationState): (event: LogEvent) => TurnState | undefined {
  const byName = new Map<string, TurnState>()
  const bySeq = new Map<number, TurnState>()
  for (const turn of state.turns) {
    byName.set(turn.turnId, turn)
    for (const call of turn.calls) byName.set(call.callId, turn)
    for (const item of turn.items) {
      bySeq.set(item.seq, turn)
      if (item.type === 'assistant') byName.set(item.messageId, turn)
    }
  }
  return ({ seq, content }) => {
    const { turnId, callId, messageId } = content as { turnId?: string; callId?: string; messageId?: string }
    return bySeq.get(seq) ?? byName.get(turnId ?? callId ?? messageId ?? '')
  }
}

/** Something in the log that was not in a prompt, or not in full. Worded like the explanations of `explain`. */
export type Eviction = { readonly why: string } & (
  | { readonly shown: 'summarised' | 'outside_window'; readonly toSeq: number }
  | { readonly shown: 'outside_window'; readonly beforeSeq: number }
  | { readonly shown: 'stubbed'; readonly callId: string }
)

export function evictionsOf({ summary, windowFrom, stubbed }: Reduction): (Eviction & { [key: string]: Json })[] {
  const evictions: (Eviction & { [key: string]: Json })[] = []
  if (summary) {
    const { toSeq, version, text } = summary
    // Without summaries, evicted turns are covered by an empty summary.
    if (text === '') {
      const why = `the turns that ended by ${toSeq} were left out without a summary`
      evictions.push({ shown: 'outside_window', toSeq, why })
    } else {
      const why = `version ${version} of the summary covers the turns that ended by ${toSeq}`
      evictions.push({ shown: 'summarised', toSeq, why })
    }
  }
  if (windowFrom > 0) {
    const why = `the budget was full, and turns that began before ${windowFrom} were left out`
    evictions.push({ shown: 'outside_window', beforeSeq: windowFrom, why })
  }
  for (const [callId, why] of stubbed) evictions.push({ shown: 'stubbed', callId, why })
  return evictions
}
