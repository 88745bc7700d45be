import { EventInvalidError, EventUnknownError } from '../base/errors/log-errors.ts'
import { type AppState, changedState } from './app-state.ts'
import type { EventOf, LogEvent, StateSet, Usage, UserMsg, Withheld } from './events.ts'
import { type CallEvent, callPosition, copyCalls, foldCall, isOfCall, newCall, waitsIn } from './fold-call.ts'
import { GrowingNotes } from './notes.ts'
import {
  type AssistantItem,
  addUsage,
  type CallState,
  type ConversationState,
  emptyState,
  type FoundCall,
  findCall,
  openTurn,
  seedTitle,
  TurnIndex,
  type TurnItem,
  type TurnState,
} from './state.ts'
import { beginsAt, type Replaced, replacedBy } from './superseded.ts'

/**
 * Folds a log to its state. `base` is the state before the first of `events`: a state folded earlier, or a summary's base.
 * Pure: `base` is not changed. An event about something that is not in the state changes nothing and is reported to `onIgnored`. Throws on an event of an
 * unknown type, because any decision past it could be wrong.
 */
export function foldEvents(
  events: Iterable<LogEvent>,
  base: ConversationState = emptyState,
  onIgnored: OnIgnored = ignoreSilently,
): ConversationState {
  const fold = new Fold(base, onIgnored)
  for (const event of events) fold.apply(event)
  return fold.state()
}

/** `why` is text that follows "it". `missing`: what the event is about, where the state does not have it. */
export type OnIgnored = (event: LogEvent, why: string, missing?: Missing) => void

export type Missing = { readonly what: 'turn' | 'call' | 'message' | 'place'; readonly id: string }

/**
 * Folds a log event by event. Copies a turn the first time it changes, so folding n events costs n however long the log before them is. Must not be used after
 * `state` was taken.
 */
export class Fold {
  readonly #turns: TurnState[]
  readonly #owned = new Set<TurnState>()
  readonly #index: TurnIndex
  #lastSeq: number
  #title: string | null
  #seed: ConversationState['seed']
  #withheld: Withheld | undefined
  #withdrawn: Replaced | undefined
  #notes: GrowingNotes | null
  #appState: AppState | undefined
  readonly #onIgnored: OnIgnored
  readonly #marks: Marks | null

  constructor(base: ConversationState, onIgnored: OnIgnored = ignoreSilently) {
    this.#onIgnored = onIgnored
    this.#marks = marksOf(base)
    this.#turns = [...base.turns]
    this.#index = new TurnIndex(base.turns)
    this.#lastSeq = base.lastSeq
    this.#title = base.title
    this.#seed = base.seed
    this.#withheld = base.withheld
    this.#withdrawn = base.withdrawn
    this.#notes = base.notes || base.notesLeftOut ? new GrowingNotes(base) : null
    this.#appState = base.appState
  }

  state(): ConversationState {
    this.#index.keepFor(this.#turns)
    const state = { lastSeq: this.#lastSeq, title: this.#title, seed: this.#seed, turns: this.#turns }
    if (!this.#marks && !this.#withheld && !this.#withdrawn && !this.#notes && !this.#appState) return state
    const withheld = this.#withheld ? { withheld: this.#withheld } : {}
    const withdrawn = this.#withdrawn ? { withdrawn: this.#withdrawn } : {}
    const appState = this.#appState ? { appState: this.#appState } : {}
    return { ...state, ...this.#marks, ...this.#notes?.state(), ...appState, ...withheld, ...withdrawn }
  }

  get lastSeq(): number {
    return this.#lastSeq
  }

  get withheld(): Withheld | undefined {
    return this.#withheld
  }

  openTurn(): TurnState | null {
    return openTurn({ turns: this.#turns })
  }

  findCall(callId: string): FoundCall | null {
    return findCall({ turns: this.#turns }, callId)
  }

  apply(event: LogEvent): void {
    if (event.seq <= this.#lastSeq) return
    if (event.seq !== this.#lastSeq + 1) {
      throw new EventInvalidError(event, `the log jumps from ${this.#lastSeq} to ${event.seq}`)
    }
    this.#dispatch(event)
    this.#lastSeq = event.seq
  }

  #dispatch(event: LogEvent): void {
    switch (event.type) {
      case 'user_msg':
        return this.#userMsg(event)
      case 'assistant_msg': {
        const { turnId, ...message } = event.content
        const at = message.restoredAt ?? event.at
        const item: AssistantItem = { type: 'assistant', seq: event.seq, at, regeneration: null, ...message }
        return this.#addItem(event, turnId, this.#judged(item))
      }
      case 'injection': {
        const { turnId, ...injection } = event.content
        return this.#addItem(event, turnId, { type: 'injection', seq: event.seq, ...injection })
      }
      case 'regeneration':
        return this.#regeneration(event)
      case 'withheld':
        return this.#withhold(event.content)
      case 'attempt_discarded': {
        const { turnId, usage } = event.content
        const turn = this.#turn(event, turnId)
        if (turn) this.#own(turn).discarded = discardedIn(turn, usage)
        return
      }
      case 'halted_by':
        return this.#haltedBy(event)
      case 'scope_missing':
        return this.#scopeMissing(event)
      case 'tool_call':
        return this.#toolCall(event)
      case 'tool_started':
      case 'tool_asked':
      case 'suspension':
      case 'resolution':
      case 'tool_result':
      case 'state_refused':
        return this.#callEvent(event)
      case 'deadline_moved':
        return this.#deadlineMoved(event)
      case 'state_set':
        return isOfCall(event) ? this.#callEvent(event) : this.#setState(event, event.content)
      case 'cancel_requested': {
        const turn = this.#turn(event, event.content.turnId)
        if (turn && !turn.end && !turn.cancel) this.#own(turn).cancel = { who: event.content.who, seq: event.seq }
        return
      }
      case 'superseded':
        return this.#supersede(event)
      case 'turn_ended': {
        const turn = this.#turn(event, event.content.turnId)
        if (!turn) return
        const { status, reason } = event.content
        this.#own(turn).end ??= { status, reason, seq: event.seq }
        return this.#openNext()
      }
      case 'titled':
        this.#title = event.content.title
        return
      case 'note':
        this.#notes ??= new GrowingNotes({})
        return this.#notes.add(event)
      case 'seeded':
        if (event.seq !== 1) return this.#onIgnored(event, 'seeds a log that already has events')
        this.#seed = event.content.state
        this.#title = seedTitle(event.content.state)
        return
      case 'restored':
        if (event.seq !== 2) this.#onIgnored(event, 'marks restored events in a log that already has others')
        return
      case 'flow_started':
      case 'flow_opened':
      case 'flow_outcome':
      case 'flow_continued':
      case 'flow_ended':
        return this.#onIgnored(event, 'belongs to a flow session, but this is the log of a conversation')
      default:
        throw new EventUnknownError(event)
    }
  }

  /** Ignores a second call with the same id, which would take the events of the first. Turns before the newest opened one have ended and keep their calls. */
  #toolCall(event: EventOf<'tool_call'>): void {
    const { turnId, callId } = event.content
    const turn = this.#turn(event, turnId)
    if (!turn) return
    if (callPosition(turn.calls, callId) >= 0 || this.#isInNewest(callId)) {
      return this.#onIgnored(event, `makes call '${callId}', which the log has already`)
    }
    this.#own(turn).calls.push(newCall(event))
  }

  #isInNewest(callId: string): boolean {
    for (let index = this.#turns.length - 1; index >= 0; index--) {
      const { calls, opened } = this.#turns[index]!
      if (callPosition(calls, callId) >= 0) return true
      if (opened) return false
    }
    return false
  }

  #userMsg(event: EventOf<'user_msg'>): void {
    const { turnId, message, options, who, data } = event.content
    const { leftOut, restoredAt } = event.content as UserMsg & { readonly leftOut?: number }
    const item: TurnItem = {
      type: 'user',
      seq: event.seq,
      at: restoredAt ?? event.at,
      message,
      who,
      ...(data !== undefined && { data }),
      ...(leftOut && { leftOut }),
      ...(restoredAt !== undefined && { restoredAt }),
    }
    const known = this.#index.newest(this.#turns, turnId)
    if (known && !known.end) {
      this.#own(known).items.push(item)
      return
    }
    this.#index.add(turnId, this.#turns.length)
    const turn: OwnedTurn = {
      turnId,
      firstSeq: event.seq,
      options: options ?? {},
      opened: false,
      items: [item],
      calls: [],
      cancel: null,
      end: null,
      ...(this.#withdrawn && { replaced: this.#withdrawn }),
    }
    this.#withdrawn = undefined
    this.#turns.push(turn)
    this.#owned.add(turn)
    this.#openNext()
  }

  /** Withdraws the turns from a place on. Costs as much as there are such turns, so a log with many marks still folds in linear time. */
  #supersede(event: EventOf<'superseded'>): void {
    const { fromSeq } = event.content
    const position = this.#turns.findLastIndex(({ firstSeq }) => firstSeq < fromSeq) + 1
    const turns = this.#turns.slice(position)
    if (this.openTurn() || turns.some(({ end }) => !end)) {
      return this.#onIgnored(event, 'withdraws turns while one has not ended')
    }
    const isHere = turns[0] !== undefined && beginsAt(turns[0], fromSeq)
    // A state that begins later in the log lacks the first of them. It can be shown; a process that works on the log reads it again.
    const isBefore = this.#marks !== null && position === 0
    if (!isHere && !isBefore) {
      const missing = { what: 'place' as const, id: String(fromSeq) }
      return this.#onIgnored(event, `withdraws the turn at ${fromSeq}, and none begins there`, missing)
    }
    this.#withdrawn = replacedBy(turns, { fromSeq, seq: event.seq }, this.#withdrawn)
    this.#index.remove(turns)
    this.#turns.length = position
  }

  /** Opens the oldest queued turn when no turn is open. A turn that was cancelled in the queue stays unopened: it is never rendered. */
  #openNext(): void {
    const newest = this.#turns.findLastIndex((turn) => turn.opened)
    if (newest >= 0 && !this.#turns[newest]!.end) return
    for (const turn of this.#turns.slice(newest + 1)) {
      if (turn.end || turn.cancel) continue
      this.#own(turn).opened = true
      return
    }
  }

  #regeneration(event: EventOf<'regeneration'>): void {
    const { messageId, n, feedback } = event.content
    const isMessage = messageWith(messageId)
    const turn = this.#turns.findLast((candidate) => candidate.items.some(isMessage))
    if (!turn) return this.#ignore(event, { what: 'message', id: messageId })
    this.#changeItem(turn, isMessage, (item) => ({ ...item, regeneration: { n, feedback } }))
  }

  /** Marks the message that follows. A message before the mark is looked up in the newest turn only, so that a mark never costs a search of the log. */
  #withhold(withheld: Withheld): void {
    const { messageId, hook } = withheld
    const isMessage = messageWith(messageId)
    const turn = this.#turns.findLast((candidate) => candidate.opened)
    if (turn?.items.some(isMessage)) this.#changeItem(turn, isMessage, (item) => withoutParts(item, hook))
    else this.#withheld = withheld
  }

  #judged(item: AssistantItem): AssistantItem {
    if (this.#withheld?.messageId !== item.messageId) return item
    const { hook } = this.#withheld
    this.#withheld = undefined
    return withoutParts(item, hook)
  }

  #changeItem(turn: TurnState, isIt: ReturnType<typeof messageWith>, change: (item: AssistantItem) => AssistantItem) {
    this.#own(turn).items = turn.items.map((item) => (isIt(item) ? change(item) : item))
  }

  #addItem(event: LogEvent, turnId: string, item: TurnItem): void {
    const turn = this.#turn(event, turnId)
    if (turn) this.#goneOn(turn).items.push(item)
  }

  #callEvent(event: CallEvent): void {
    const { callId } = event.content
    const found = this.findCall(callId)
    if (!found) return this.#ignore(event, { what: 'call', id: callId })
    const { call } = found
    if (event.type === 'state_set' && call.result) {
      return this.#onIgnored(event, `sets the state for call '${callId}', which has its result already`)
    }
    const turn = event.type === 'tool_started' ? this.#goneOn(found.turn) : this.#own(found.turn)
    turn.calls[found.position] = foldCall(call, event)
    if (call.stateSet && event.type === 'tool_result' && event.content.ok) this.#setState(event, call.stateSet)
  }

  #setState(event: LogEvent, change: Pick<StateSet, 'patch' | 'exposed'>): void {
    const changed = changedState(this.#appState, change)
    if (changed) this.#appState = changed
    else this.#onIgnored(event, 'makes the state of the conversation larger than it may be')
  }

  #deadlineMoved(event: EventOf<'deadline_moved'>): void {
    const { callId, round } = event.content
    const found = this.findCall(callId)
    if (found && !waitsIn(found.call, event.content)) {
      return this.#onIgnored(event, `moves the deadline of round ${round} of call '${callId}', which does not wait`)
    }
    this.#callEvent(event)
  }

  /** The first halt of a turn counts: it gives the reason. */
  #haltedBy(event: EventOf<'halted_by'>): void {
    const { callId, reason } = event.content
    const found = this.findCall(callId)
    if (!found) return this.#ignore(event, { what: 'call', id: callId })
    if (!found.turn.end && !found.turn.halt) this.#own(found.turn).halt = { callId, reason }
  }

  /** An older one keeps its time: since then the turn waits. */
  #scopeMissing(event: EventOf<'scope_missing'>): void {
    const { turnId, who } = event.content
    const turn = this.#turn(event, turnId)
    if (turn && !turn.end && !turn.scopeMissing) this.#own(turn).scopeMissing = { who, seq: event.seq, at: event.at }
  }

  /** The turn's owner has a scope again. */
  #goneOn(turn: TurnState): OwnedTurn {
    const owned = this.#own(turn)
    if (owned.scopeMissing) delete owned.scopeMissing
    return owned
  }

  #turn(event: LogEvent, turnId: string): TurnState | null {
    const turn = this.#turns.findLast((candidate) => candidate.turnId === turnId)
    if (!turn) this.#ignore(event, { what: 'turn', id: turnId })
    return turn ?? null
  }

  #ignore(event: LogEvent, missing: Missing): void {
    this.#onIgnored(event, `names ${missing.what} '${missing.id}', which is not in the log before it`, missing)
  }

  #own(turn: TurnState): OwnedTurn {
    if (this.#owned.has(turn)) return turn as OwnedTurn
    const copy = { ...turn, items: [...turn.items], calls: copyCalls(turn.calls) }
    this.#turns[this.#turns.lastIndexOf(turn)] = copy
    this.#owned.add(copy)
    return copy
  }
}

type Marks = Pick<ConversationState, 'hasOlder' | 'isTrimmed'>

function marksOf({ hasOlder, isTrimmed }: ConversationState): Marks | null {
  if (!hasOlder && !isTrimmed) return null
  return { ...(hasOlder ? { hasOlder } : {}), ...(isTrimmed ? { isTrimmed } : {}) }
}

const ignoreSilently: OnIgnored = () => {}

function discardedIn({ discarded }: TurnState, usage: Usage): NonNullable<TurnState['discarded']> {
  return { attempts: (discarded?.attempts ?? 0) + 1, usage: addUsage({ ...discarded?.usage }, usage) }
}

function messageWith(messageId: string): (item: TurnItem) => item is AssistantItem {
  return (item): item is AssistantItem => item.type === 'assistant' && item.messageId === messageId
}

function withoutParts({ object: _, ...item }: AssistantItem, hook: string): AssistantItem {
  return { ...item, parts: [], withheld: { hook } }
}

type OwnedTurn = { -readonly [Key in keyof TurnState]: TurnState[Key] } & { items: TurnItem[]; calls: CallState[] }
