import { abridge, abridgeCall, abridgeItem, weightOf } from './abridge.ts'
import { callPhase } from './call-phase.ts'
import type { LogEvent } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { newestNotes, notesWeight } from './notes.ts'
import {
  type CallState,
  type ConversationState,
  keptMessages,
  type TurnItem,
  type TurnState,
  usageOf,
} from './state.ts'
import type { Replaced } from './superseded.ts'

/** Default size of the visible part of a conversation: about this many bytes of its newest messages. */
export const shownBytes = 1024 * 1024

const weights = new WeakMap<ConversationState, number>()

/** About how many bytes a state takes in memory. States from `foldWithin` carry the figure; others are counted once. */
export function stateWeight(state: ConversationState): number {
  const known = weights.get(state)
  if (known !== undefined) return known
  let weight = weightOf(state.seed) + ownWeight(state)
  for (const turn of state.turns) weight += turnWeight(turn)
  weights.set(state, weight)
  return weight
}

/**
 * Folds events onto a state of bounded size: whenever the state weighs more than `most`, it is trimmed to `trimTo`. A log of any length costs at most that plus
 * one event. Default of `trimTo`: half of `most`.
 */
export function foldWithin(
  events: Iterable<LogEvent>,
  base: ConversationState,
  most: number,
  trimTo: number = most / 2,
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
    state = trimState(state, trimTo)
    weight = stateWeight(state)
    left = weight
  }
  if (batch.length > 0) fold()
  return state
}

/** About how many bytes these events add to a state. */
export function eventsWeight(events: readonly LogEvent[]): number {
  let weight = 0
  for (const event of events) weight += eventOverhead + weightOf(event.content)
  return weight
}

/** Trims the state to `kept` when it weighs more than `most`, unless an earlier trim showed that most of it must stay. */
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

/** What the last trim left over, per state. Where that exceeds the bound, the rest cannot be cut, and trimming is not tried again with every event. */
const leftByTrim = new WeakMap<ConversationState, number>()

/**
 * The newest part of a state, in about `maxBytes`. Drops the oldest notes beyond a quarter of that, then the oldest ended turns with the notes before them, then the first items of the turn after them, then cuts long fields of the
 * rest, oldest first. Open calls, queued turns and the newest item always stay. Pure; returns the same object when it fits.
 */
export function trimState(state: ConversationState, maxBytes: number): ConversationState {
  if (stateWeight(state) <= maxBytes) return state
  const last = trimmed.get(state)
  if (last?.maxBytes === maxBytes) return last.state
  const result = trimmedTo(state, maxBytes)
  trimmed.set(state, { maxBytes, state: result })
  for (const known of [state, result]) leftByTrim.set(known, stateWeight(result))
  return result
}

/** The last trim of a state. Readers ask for the same trim repeatedly while nothing happens. */
const trimmed = new WeakMap<ConversationState, { readonly maxBytes: number; readonly state: ConversationState }>()

function trimmedTo(state: ConversationState, maxBytes: number): ConversationState {
  const trim = new Trim(state, maxBytes)
  trim.dropNotes()
  trim.dropTurns()
  trim.dropItems()
  trim.abridge((call) => callPhase(call).type !== 'ended')
  trim.abridge(() => false)
  return trim.state()
}

class Trim {
  #state: ConversationState
  readonly #maxBytes: number
  #turns: TurnState[]
  #weight: number
  #hasOlder: boolean

  constructor(state: ConversationState, maxBytes: number) {
    this.#state = state
    this.#maxBytes = maxBytes
    this.#turns = [...state.turns]
    this.#weight = this.#turns.reduce((sum, turn) => sum + turnWeight(turn), ownWeight(state))
    this.#hasOlder = state.hasOlder ?? false
  }

  get #isTooHeavy(): boolean {
    return this.#weight > this.#maxBytes
  }

  state(): ConversationState {
    // Only prompts use the seed.
    const trimmed = { ...this.#state, seed: null, turns: this.#turns, isTrimmed: true }
    const state = this.#hasOlder ? { ...trimmed, hasOlder: true } : trimmed
    weights.set(state, this.#weight)
    return state
  }

  dropNotes(): void {
    if (this.#isTooHeavy && this.#state.notes) this.#keepNotes(newestNotes(this.#state, this.#maxBytes / 4))
  }

  dropTurns(): void {
    let dropped = 0
    while (this.#isTooHeavy && dropped < this.#turns.length - 1 && this.#turns[dropped]!.end) {
      this.#weight -= turnWeight(this.#turns[dropped]!)
      dropped += 1
    }
    if (dropped > 0) this.#hasOlder = true
    this.#turns = this.#turns.slice(dropped)
    const { notes } = this.#state
    if (dropped === 0 || !notes) return
    const begun = this.#turns[0]!.firstSeq
    this.#keepNotes({ ...this.#state, notes: notes.filter(({ seq }) => seq > begun) })
  }

  #keepNotes({ notes, notesLeftOut }: Pick<ConversationState, 'notes' | 'notesLeftOut'>): void {
    const { notes: before, notesLeftOut: _, ...state } = this.#state
    const leftOut = notesLeftOut === undefined ? {} : { notesLeftOut }
    this.#state = { ...state, ...(notes && notes.length > 0 ? { notes } : {}), ...leftOut }
    this.#weight += notesWeight(notes) - notesWeight(before)
  }

  /** Drops items of the first turn only: the turns after it are queued, or dropping leaves little of it. */
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

  /** Cuts long fields to their beginnings, oldest first. */
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
      const replaced = turn.replaced ? { replaced: this.#abridgeReplaced(turn.replaced) } : {}
      this.#turns[index] = { ...turn, options, items: [...items.values()], calls: [...calls.values()], ...replaced }
    }
  }

  #abridgeReplaced(replaced: Replaced): Replaced {
    const shorter = (call: CallState) => (this.#isTooHeavy ? this.#lighter(call, abridgeCall(call), callWeight) : call)
    return { ...replaced, calls: replaced.calls.map(shorter) }
  }

  #lighter<T>(whole: T, abridged: T, weigh: (part: T) => number): T {
    this.#weight += weigh(abridged) - weigh(whole)
    return abridged
  }
}

/** What a state takes beside its turns and its seed. */
function ownWeight({ title, notes, appState, withdrawn }: ConversationState): number {
  const others = (appState ? weightOf(appState) : 0) + (withdrawn ? weightOf(withdrawn) : 0)
  return weightOf(title) + (notes ? notesWeight(notes) : 0) + others
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
  for (const call of turn.replaced?.calls ?? []) weight += callWeight(call)
  return weight
}

function itemWeight(item: TurnItem): number {
  return partWeight(item)
}

function callWeight(call: CallState): number {
  return partWeight(call)
}

/** Parts of a state never change, so each is weighed once. */
function partWeight(part: object): number {
  const known = partWeights.get(part)
  if (known !== undefined) return known
  const weight = weightOf(part)
  partWeights.set(part, weight)
  return weight
}
