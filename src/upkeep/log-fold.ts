import { PerdureError } from '../base/errors/perdure-error.ts'
import { type FlowState, foldFlow } from '../engine/flow/flow-state.ts'
import { trimFlow } from '../engine/flow/load-flow.ts'
import { leftOutOf, weightOf } from '../log/abridge.ts'
import type { LogEvent } from '../log/events.ts'
import { foldEvents, type Missing, type OnIgnored } from '../log/fold-events.ts'
import { baseOf, type ConversationState, emptyState, type TurnState } from '../log/state.ts'
import { boundState, eventsWeight, rememberTrim, stateWeight } from '../log/trim-state.ts'
import { decodeEvent } from '../store/rows.ts'
import type { UpkeepReader } from '../store/upkeep.ts'
import type { ConversationExaminer } from './examine-conversation.ts'

/** The state that a log has folded to so far. */
export type Folded =
  | { readonly kind: 'conversation'; readonly state: ConversationState }
  | { readonly kind: 'flow'; readonly state: FlowState | null }

const batchSize = 32
const keptTurns = 8
/** A batch ends with the event that takes it past this size: decoded events take up to twenty times their bytes. */
const batchBytes = 256 * 1024
/** The most a state may weigh, and what it is then trimmed to. Several logs may be examined at once. */
const bounds = { most: 4 * 1024 * 1024, kept: 2 * 1024 * 1024 }

/**
 * Folds a log of any length in little memory. Ended turns are dropped, as a summary drops them. A turn that is large by itself is trimmed to what the rules
 * need: its state then `isTrimmed`, and its contents must not be compared.
 */
export class LogFold {
  readonly #watched: ReadonlySet<number>
  readonly #onWatched: (seq: number, folded: Folded) => void
  readonly #onIgnored: OnIgnored
  #batch: LogEvent[] = []
  #batchBytes = 0
  #folded: Folded = { kind: 'conversation', state: emptyState }
  #problem: string | null = null
  /** How much of the batch comes up to its last landmark. */
  #untilLandmark = 0
  #atLandmark: Folded | null = null
  #seed: ConversationState['seed'] = null
  /** About how much the state weighs. */
  #weight = 0

  /** `onWatched` receives the state right after each of these seqs; 0 is before the first event. `onIgnored`: see `foldEvents`. */
  constructor(
    watched: ReadonlySet<number>,
    onWatched: (seq: number, folded: Folded) => void,
    onIgnored: OnIgnored = () => {},
  ) {
    this.#watched = watched
    this.#onWatched = onWatched
    this.#onIgnored = onIgnored
  }

  /** Why the log cannot be folded; null while it can. */
  get problem(): string | null {
    return this.#problem
  }

  /** The state right after the last landmark, as far as it was folded. */
  get atLandmark(): Folded | null {
    return this.#atLandmark
  }

  /** Only the last landmark counts. Stopping at each one would copy a long turn for every event in it. */
  event(event: LogEvent, isLandmark = false): void {
    if (event.seq === 1) {
      if (event.type === 'flow_started') this.#folded = { kind: 'flow', state: null }
      this.#notifyWatched(0)
    }
    this.#batch.push(event)
    if (isLandmark) this.#untilLandmark = this.#batch.length
    this.#batchBytes += weightOf(event.content)
    const isFull = this.#batch.length >= batchSize || this.#batchBytes > batchBytes
    if (!isFull && !this.#watched.has(event.seq)) return
    this.#flush()
    this.#notifyWatched(event.seq)
  }

  end(): Folded {
    this.#flush()
    return this.#folded
  }

  #notifyWatched(seq: number): void {
    if (this.#watched.has(seq) && this.#problem === null) this.#onWatched(seq, this.#folded)
  }

  #flush(): void {
    const events = this.#batch
    const landmark = this.#untilLandmark
    this.#batch = []
    this.#batchBytes = 0
    this.#untilLandmark = 0
    if (landmark > 0) {
      this.#add(events.slice(0, landmark))
      this.#atLandmark = this.#folded
    }
    if (landmark < events.length) this.#add(events.slice(landmark))
  }

  #add(events: readonly LogEvent[]): void {
    if (this.#problem !== null) return
    try {
      this.#folded =
        this.#folded.kind === 'flow'
          ? { kind: 'flow', state: this.#flow(events, this.#folded.state) }
          : { kind: 'conversation', state: this.#conversation(events, this.#folded.state) }
    } catch (error) {
      // A content that does not match its type may break the fold in any way.
      if (!PerdureError.isInstance(error) && !(error instanceof TypeError)) throw error
      this.#problem = error.message
    }
  }

  #conversation(events: readonly LogEvent[], before: ConversationState): ConversationState {
    const grown = foldEvents(events, before, this.#onIgnored)
    rememberTrim(before, grown)
    this.#seed ??= grown.seed
    this.#weight += eventsWeight(events)
    const state = withoutEnded(grown, this.#weight > bounds.most)
    if (state !== grown) this.#weight = stateWeight(state)
    const bounded = boundState(state, this.#weight, bounds)
    if (bounded !== state) this.#weight = stateWeight(bounded)
    const isWholeAgain = bounded.isTrimmed && state !== grown && bounded.turns.every(isWhole)
    return isWholeAgain ? asIfWhole(bounded, this.#seed) : bounded
  }

  #flow(events: readonly LogEvent[], before: FlowState | null): FlowState | null {
    const state = foldFlow(events, before, this.#onIgnored)
    return state && trimFlow(state, bounds.most)
  }
}

/** Late events may name turns that have just ended. */
function withoutEnded(state: ConversationState, isLarge: boolean): ConversationState {
  const most = isLarge ? 1 : keptTurns * 2
  if (state.turns.length <= most) return state
  const recent = new Set(state.turns.slice(isLarge ? -1 : -keptTurns))
  const unfinished = new Set(baseOf(state).turns)
  const turns = state.turns.filter((turn) => recent.has(turn) || unfinished.has(turn))
  return turns.length === state.turns.length ? state : { ...state, turns }
}

/** Whether nothing of a turn is left out, so that its contents may be compared. */
export function isWhole({ leftOut, items, calls }: TurnState): boolean {
  return !leftOut && items.every((item) => !('leftOut' in item)) && calls.every((call) => leftOutOf(call) === 0)
}

/** Clears the trimmed mark once every cut part belonged to a turn that has ended. */
function asIfWhole(
  { isTrimmed: _, hasOlder: __, ...state }: ConversationState,
  seed: ConversationState['seed'],
): ConversationState {
  return { ...state, seed }
}

type Ignored = {
  readonly seq: number
  readonly type: string
  readonly why: string
  readonly missing: string | null
}

const mostKept = 1_000

/** The events of one log that its fold ignored. */
export class IgnoredEvents {
  readonly #ignored: Ignored[] = []
  #left = 0

  add({ seq, type }: LogEvent, why: string, missing?: Missing): void {
    if (this.#ignored.length < mostKept)
      this.#ignored.push({ seq, type, why, missing: missing ? nameOf(missing) : null })
    else this.#left += 1
  }

  /**
   * Reports the events that are about nothing in the log. The doctor drops ended turns to fold in little memory, so what such an event names is looked up in
   * the log itself.
   */
  async report(reader: UpkeepReader, examiner: ConversationExaminer, folded: Folded | null): Promise<void> {
    const wanted = new Set(this.#ignored.flatMap(({ missing }) => missing ?? []))
    const places = wanted.size === 0 ? new Map<string, number>() : await firstPlaces(reader, examiner, wanted)
    for (const { seq, type, why, missing } of this.#ignored) {
      const place = missing === null ? undefined : places.get(missing)
      if (place === undefined || place > seq) examiner.add('event_ignored', `event ${seq} (${type}) ${why}`)
    }
    const mark = folded?.kind === 'conversation' ? folded.state.withheld : undefined
    // A fork may start between a mark and its message.
    if (mark && examiner.forkedAt === null)
      examiner.add('event_ignored', `message '${mark.messageId}' is withheld, and never came`)
    if (this.#left > 0)
      examiner.add('event_ignored', `${this.#left} more events are about something that is not in the log`)
  }
}

/** Where each of these turns, calls and messages first appears in the log. */
async function firstPlaces(
  reader: UpkeepReader,
  { tenant, conversation }: ConversationExaminer,
  wanted: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const places = new Map<string, number>()
  for await (const { type, row } of reader.rows(tenant, conversation.id)) {
    if (type !== 'event') break
    if (!['user_msg', 'assistant_msg', 'tool_call'].includes(row.type)) continue
    const event = decodeEvent(conversation.id, row)
    const place = nameOf({ what: 'place', id: String(row.seq) })
    if (event.type === 'user_msg' && wanted.has(place)) places.set(place, row.seq)
    const name = madeBy(event)
    if (name !== null && wanted.has(name) && !places.has(name)) places.set(name, row.seq)
  }
  return places
}

function madeBy(event: LogEvent): string | null {
  if (event.type === 'user_msg') return nameOf({ what: 'turn', id: event.content.turnId })
  if (event.type === 'assistant_msg') return nameOf({ what: 'message', id: event.content.messageId })
  return event.type === 'tool_call' ? nameOf({ what: 'call', id: event.content.callId }) : null
}

function nameOf({ what, id }: Missing): string {
  return `${what} ${id}`
}
