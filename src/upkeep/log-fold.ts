import { PerdureError } from '../errors/perdure-error.ts'
import { type FlowState, foldFlow } from '../flow/flow-state.ts'
import type { LogEvent } from '../log/events.ts'
import { foldEvents, type OnIgnored } from '../log/fold-events.ts'
import { baseOf, type ConversationState, emptyState } from '../log/state.ts'

/** What a log folds to so far. */
export type Folded =
  | { readonly kind: 'conversation'; readonly state: ConversationState }
  | { readonly kind: 'flow'; readonly state: FlowState | null }

const batchSize = 32
const keptTurns = 8

/** Folds a log of any length in little memory: turns that have ended are let go, as a summary lets them go. */
export class LogFold {
  readonly #watched: ReadonlySet<number>
  readonly #onWatched: (seq: number, folded: Folded) => void
  readonly #onIgnored: OnIgnored
  #batch: LogEvent[] = []
  #folded: Folded = { kind: 'conversation', state: emptyState }
  #problem: string | null = null
  /** How much of the batch reaches up to its last landmark. */
  #untilLandmark = 0
  #atLandmark: Folded | null = null

  /** `onWatched` is told of the state right after these seqs; 0 is before the first. `onIgnored`: see `foldEvents`. */
  constructor(
    watched: ReadonlySet<number>,
    onWatched: (seq: number, folded: Folded) => void,
    onIgnored: OnIgnored = () => {},
  ) {
    this.#watched = watched
    this.#onWatched = onWatched
    this.#onIgnored = onIgnored
  }

  /** Why it cannot be folded; null as long as it can. */
  get problem(): string | null {
    return this.#problem
  }

  /** The state right after the last landmark, as far as it was folded. */
  get atLandmark(): Folded | null {
    return this.#atLandmark
  }

  /** Of all landmarks only the last counts. Stopping at each would copy a long turn for every event of it. */
  event(event: LogEvent, isLandmark = false): void {
    if (event.seq === 1) {
      if (event.type === 'flow_started') this.#folded = { kind: 'flow', state: null }
      this.#tell(0)
    }
    this.#batch.push(event)
    if (isLandmark) this.#untilLandmark = this.#batch.length
    if (this.#batch.length < batchSize && !this.#watched.has(event.seq)) return
    this.#flush()
    this.#tell(event.seq)
  }

  end(): Folded {
    this.#flush()
    return this.#folded
  }

  #tell(seq: number): void {
    if (this.#watched.has(seq) && this.#problem === null) this.#onWatched(seq, this.#folded)
  }

  #flush(): void {
    const events = this.#batch
    const landmark = this.#untilLandmark
    this.#batch = []
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
          ? { kind: 'flow', state: foldFlow(events, this.#folded.state, this.#onIgnored) }
          : { kind: 'conversation', state: trimmed(foldEvents(events, this.#folded.state, this.#onIgnored)) }
    } catch (error) {
      // A content that is not what its type promises may break the fold in any way.
      if (!PerdureError.isInstance(error) && !(error instanceof TypeError)) throw error
      this.#problem = error.message
    }
  }
}

/** Late events may name turns that have just ended. */
function trimmed(state: ConversationState): ConversationState {
  if (state.turns.length <= keptTurns * 2) return state
  const recent = new Set(state.turns.slice(-keptTurns))
  const kept = new Set(baseOf(state).turns)
  return { ...state, turns: state.turns.filter((turn) => recent.has(turn) || kept.has(turn)) }
}
