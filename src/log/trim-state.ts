import { abridge, abridgeCall, abridgeItem, weightOf } from './abridge.ts'
import { callPhase } from './call-phase.ts'
import type { LogEvent } from './events.ts'
import { foldEvents } from './fold-events.ts'
import {
  type CallState,
  type ConversationState,
  keptMessages,
  type TurnItem,
  type TurnState,
  usageOf,
} from './state.ts'

/** What of a conversation is shown at once, by default: about so many bytes of its newest messages. */
export const shownBytes = 1024 * 1024

const weights = new WeakMap<ConversationState, number>()

/** About what a state takes in memory. Known of what `foldWithin` returns; counted once of others. */
export function stateWeight(state: ConversationState): number {
  const known = weights.get(state)
  if (known !== undefined) return known
  let weight = weightOf(state.seed) + weightOf(state.title)
  for (const turn of state.turns) weight += turnWeight(turn)
  weights.set(state, weight)
  return weight
}

/**
 * Folds events on a state that may not grow without bound: whenever it weighs more than `most`, it is trimmed to `kept`. So a log of any length costs no more
 * than that and one event. Default of `kept`: half of it.
 */
export function foldWithin(
  events: Iterable<LogEvent>,
  base: ConversationState,
  most: number,
  kept: number = most / 2,
): ConversationState {
  let state = base
  let weight = stateWeight(base)
  let left = leftByTrim.get(base) ?? 0
  let batch: LogEvent[] = []
  const fold = (): void => {
    state = foldEvents(batch, state)
    batch = []
    weights.set(state, weight)
    if (left > 0) leftByTrim.set(state, left)
  }
  for (const event of events) {
    batch.push(event)
    weight += eventOverhead + weightOf(event.content)
    if (weight <= Math.max(most, 2 * left)) continue
    fold()
    state = trimState(state, kept)
    weight = stateWeight(state)
    left = weight
  }
  if (batch.length > 0) fold()
  return state
}

/** What these events add to a state, about. */
export function eventsWeight(events: readonly LogEvent[]): number {
  let weight = 0
  for (const event of events) weight += eventOverhead + weightOf(event.content)
  return weight
}

/** Trimmed to `kept` where it weighs more than `most`, unless a trim of what it came of is known to leave most of it. */
export function boundState(
  state: ConversationState,
  weight: number,
  { most, kept }: { readonly most: number; readonly kept: number },
): ConversationState {
  if (weight <= most || weight <= 2 * (leftByTrim.get(state) ?? 0)) return state
  return trimState(state, kept)
}

/** Carries what is known about trimming from `base` to the state that was folded on it. */
export function rememberTrim(base: ConversationState, state: ConversationState): void {
  const left = leftByTrim.get(base)
  if (left !== undefined) leftByTrim.set(state, left)
}

const eventOverhead = 100

/** What the last trim left, of a state and what came of it. Where that is more than the bound, it cannot be left out, and is not tried again with every event. */
const leftByTrim = new WeakMap<ConversationState, number>()

/**
 * The newest of a state, in about so many bytes: without the oldest turns that have ended, without the first items of the turn after them, and with the
 * beginnings of what is long in the rest, the oldest first. What has not ended stays: calls, queued turns, and the newest item. Pure; the same object where it fits.
 */
export function trimState(state: ConversationState, maxBytes: number): ConversationState {
  if (stateWeight(state) <= maxBytes) return state
  const known = trimmed.get(state)
  if (known?.maxBytes === maxBytes) return known.state
  const kept = trimmedTo(state, maxBytes)
  trimmed.set(state, { maxBytes, state: kept })
  for (const known of [state, kept]) leftByTrim.set(known, stateWeight(kept))
  return kept
}

/** What a state was trimmed to last: the same is asked for again and again while nothing happens. */
const trimmed = new WeakMap<ConversationState, { readonly maxBytes: number; readonly state: ConversationState }>()

function trimmedTo(state: ConversationState, maxBytes: number): ConversationState {
  const trim = new Trim(state, maxBytes)
  trim.dropTurns()
  trim.dropItems()
  trim.abridge((call) => callPhase(call).type !== 'ended')
  trim.abridge(() => false)
  return trim.state()
}

class Trim {
  readonly #state: ConversationState
  readonly #maxBytes: number
  #turns: TurnState[]
  #weight: number
  #hasOlder: boolean

  constructor(state: ConversationState, maxBytes: number) {
    this.#state = state
    this.#maxBytes = maxBytes
    this.#turns = [...state.turns]
    this.#weight = this.#turns.reduce((sum, turn) => sum + turnWeight(turn), weightOf(state.title))
    this.#hasOlder = state.hasOlder ?? false
  }

  get #isTooHeavy(): boolean {
    return this.#weight > this.#maxBytes
  }

  state(): ConversationState {
    // What it was seeded with is for prompts alone.
    const trimmed = { ...this.#state, seed: null, turns: this.#turns, isTrimmed: true }
    const state = this.#hasOlder ? { ...trimmed, hasOlder: true } : trimmed
    weights.set(state, this.#weight)
    return state
  }

  dropTurns(): void {
    let dropped = 0
    while (this.#isTooHeavy && dropped < this.#turns.length - 1 && this.#turns[dropped]!.end) {
      this.#weight -= turnWeight(this.#turns[dropped]!)
      dropped += 1
    }
    if (dropped > 0) this.#hasOlder = true
    this.#turns = this.#turns.slice(dropped)
  }

  /** Only of the first turn: those after it are queued, or what is left of it is little. */
  dropItems(): void {
    const [turn] = this.#turns
    if (!turn?.opened || !this.#isTooHeavy) return
    const calls = new Map(turn.calls.map((call) => [call.callId, call]))
    const gone: CallState[] = []
    let dropped = 0
    for (const item of turn.items.slice(0, -1)) {
      const ofItem = callIdsOf(item).flatMap((callId) => calls.get(callId) ?? [])
      if (!this.#isTooHeavy || ofItem.some((call) => callPhase(call).type !== 'ended')) break
      this.#weight -= itemWeight(item)
      for (const call of ofItem) {
        this.#weight -= callWeight(call)
        calls.delete(call.callId)
        gone.push(call)
      }
      dropped += 1
    }
    if (dropped === 0) return
    const items = turn.items.slice(0, dropped)
    const before = turn.leftOut ? { leftOut: turn.leftOut } : {}
    const leftOut = {
      usage: usageOf({ items, calls: gone, ...before }),
      messages: (turn.leftOut?.messages ?? 0) + keptMessages({ items }).length,
    }
    this.#turns[0] = { ...turn, items: turn.items.slice(dropped), calls: [...calls.values()], leftOut }
    this.#hasOlder = true
  }

  /** The beginnings of what is long, the oldest first. */
  abridge(isSpared: (call: CallState) => boolean): void {
    for (let index = 0; index < this.#turns.length && this.#isTooHeavy; index++) {
      const turn = this.#turns[index]!
      const options = this.#lighter(turn.options, abridge(turn.options) as TurnState['options'], weightOf)
      const items = new Map(turn.items.map((item) => [item.seq, item]))
      const calls = new Map(turn.calls.map((call) => [call.seq, call]))
      const seqs = [...items.keys(), ...calls.keys()].sort((one, other) => one - other)
      for (const seq of seqs) {
        if (!this.#isTooHeavy) break
        const [item, call] = [items.get(seq), calls.get(seq)]
        if (item) items.set(seq, this.#lighter(item, abridgeItem(item), itemWeight))
        if (call && !isSpared(call)) calls.set(seq, this.#lighter(call, abridgeCall(call), callWeight))
      }
      this.#turns[index] = { ...turn, options, items: [...items.values()], calls: [...calls.values()] }
    }
  }

  #lighter<T>(whole: T, abridged: T, weigh: (part: T) => number): T {
    this.#weight += weigh(abridged) - weigh(whole)
    return abridged
  }
}

function callIdsOf(item: TurnItem): string[] {
  if (item.type !== 'assistant') return []
  return item.parts.flatMap((part) => (part.type === 'call' ? [part.callId] : []))
}

const partWeights = new WeakMap<object, number>()

function turnWeight(turn: TurnState): number {
  let weight = 200 + weightOf(turn.options)
  for (const item of turn.items) weight += itemWeight(item)
  for (const call of turn.calls) weight += callWeight(call)
  return weight
}

function itemWeight(item: TurnItem): number {
  return partWeight(item)
}

function callWeight(call: CallState): number {
  return partWeight(call)
}

/** Parts of a state are never changed, so each is weighed once. */
function partWeight(part: object): number {
  const known = partWeights.get(part)
  if (known !== undefined) return known
  const weight = weightOf(part)
  partWeights.set(part, weight)
  return weight
}
