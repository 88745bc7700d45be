import { type CallEnd, callEnd } from '../log/call-phase.ts'
import type { EventOf, LogEvent } from '../log/events.ts'
import { Fold } from '../log/fold-events.ts'
import {
  type CallTally,
  type ConversationPhase,
  noneOpen,
  phaseOfTurn,
  tallyOf,
  tallyOfCall,
} from '../log/fsm-state.ts'
import type { CallState, ConversationState, FoundCall, TurnState } from '../log/state.ts'
import { withoutContent } from './hidden.ts'
import type { Activity, Children, Draft, DraftPart, LiveContent, LiveEvent, View, ViewPhase } from './view.ts'

/** The parts of a view that are not computed from its log. */
export type LiveParts = Pick<View, 'activity' | 'drafts' | 'progress' | 'children'>

export const noChildren: Children = { waiting: [], pending: [] }

export const nothingLive: LiveParts = { activity: null, drafts: [], progress: {}, children: noChildren }

/** Adds a live event. Returns the same object when the event changes nothing here. */
export function withLive(parts: LiveParts, event: LiveEvent): LiveParts {
  switch (event.type) {
    case 'text_delta':
    case 'reasoning_delta':
    case 'tool_input_delta': {
      const drafts = appendDelta(parts.drafts, event)
      return drafts === parts.drafts ? parts : { ...parts, drafts }
    }
    case 'message_discarded':
      return withoutDrafts(parts, ({ messageId }) => messageId === event.messageId)
    case 'tool_progress':
      return { ...parts, progress: { ...parts.progress, [event.callId]: event.payload } }
    case 'phase_changed': {
      const activity = isActivity(event.phase) ? event.phase : null
      return activity === parts.activity ? parts : { ...parts, activity }
    }
    case 'children_changed': {
      const { waiting, pending } = event
      return { ...parts, children: { waiting, pending } }
    }
    default:
      // The other live events announce what the log says.
      return parts
  }
}

/** Drops what a committed event makes obsolete. */
export function withoutSettled(parts: LiveParts, event: LogEvent): LiveParts {
  switch (event.type) {
    case 'assistant_msg':
      return withoutDrafts(parts, ({ messageId }) => messageId === event.content.messageId)
    // A call that starts again, suspends or ends is no longer at its last progress.
    case 'tool_started':
    case 'suspension':
    case 'resolution':
    case 'tool_result': {
      if (!(event.content.callId in parts.progress)) return parts
      const { [event.content.callId]: _, ...progress } = parts.progress
      return { ...parts, progress }
    }
    case 'turn_ended':
      return { ...withoutDrafts(parts, ({ turnId }) => turnId === event.content.turnId), activity: null, progress: {} }
    default:
      return parts
  }
}

function withoutDrafts(parts: LiveParts, isGone: (draft: LiveParts['drafts'][number]) => boolean): LiveParts {
  const drafts = parts.drafts.filter((draft) => !isGone(draft))
  return drafts.length === parts.drafts.length ? parts : { ...parts, drafts }
}

function isActivity(state: string): state is Activity {
  return state === 'preparing' || state === 'streaming' || state === 'executing_tools'
}

export type DeltaEvent = Extract<LiveEvent, { type: 'text_delta' | 'reasoning_delta' | 'tool_input_delta' }>

/** Whether the event carries text that is shown as it arrives. */
export function isTextDelta(event: { readonly type: string }): boolean {
  return event.type === 'text_delta' || event.type === 'reasoning_delta'
}

export function isDelta<Event extends { readonly type: string }>(
  event: Event,
): event is Extract<Event, { type: DeltaEvent['type'] }> {
  return isTextDelta(event) || event.type === 'tool_input_delta'
}

/** Adds a delta to its draft. The deltas of one message come in order; a delta that is already there, or that follows a missing one, changes nothing. */
export function appendDelta(drafts: readonly Draft[], event: DeltaEvent): readonly Draft[] {
  const { turnId, messageId, n, attempt } = event
  const known = drafts.find((draft) => draft.messageId === messageId)
  if (n !== (known?.n ?? 0) + 1) return drafts
  const draft: Draft = {
    turnId,
    messageId,
    n,
    parts: appended(known?.parts ?? [], pieceOf(event)),
    ...(attempt === undefined ? {} : { attempt }),
  }
  if (known) return drafts.map((candidate) => (candidate === known ? draft : candidate))
  const others = drafts.filter((other) => other.turnId === turnId)
  if (others.some((other) => attemptOf(other) > attemptOf(draft))) return drafts
  return [...drafts.filter((other) => !others.includes(other) || attemptOf(other) === attemptOf(draft)), draft]
}

/** Characters of a draft, in all its parts. */
export function charactersOf({ parts }: Pick<Draft, 'parts'>): number {
  return parts.reduce((sum, { text }) => sum + text.length, 0)
}

function attemptOf({ attempt = 1 }: Pick<Draft, 'attempt'>): number {
  return attempt
}

function pieceOf(event: DeltaEvent): DraftPart {
  if (event.type === 'tool_input_delta')
    return { type: 'tool_input', part: event.callId, text: event.delta, name: event.name }
  return { type: event.type === 'text_delta' ? 'text' : 'reasoning', part: event.part, text: event.delta }
}

function appended(parts: readonly DraftPart[], piece: DraftPart): DraftPart[] {
  const last = parts.at(-1)
  if (last?.type !== piece.type || last.part !== piece.part) return [...parts, piece]
  return [...parts.slice(0, -1), { ...last, text: last.text + piece.text }]
}

type Announced = {
  /** The event for watchers: a message that no hook has passed is empty. */
  readonly shown: LogEvent
  readonly live: readonly LiveEvent[]
}

/**
 * Turns committed events into live events, one after the other, so that every node announces the same no matter which node committed them. The calls of the
 * open turn are counted once; after that, an event costs the same however many calls there are.
 */
export class Announcer {
  readonly #fold: Fold
  /** The first `seq` of the open turn; null when no turn is open. */
  #openSeq: number | null = null
  #openTurnId: string | null = null
  #tally = noneOpen
  #phase: ConversationPhase

  constructor(before: ConversationState) {
    this.#fold = new Fold(before)
    this.#phase = this.#phaseNow(null, null)
  }

  get lastSeq(): number {
    return this.#fold.lastSeq
  }

  /** After all events so far. */
  get phase(): ConversationPhase {
    return this.#phase
  }

  /** The state with all events so far. Must be the last method called. */
  state(): ConversationState {
    return this.#fold.state()
  }

  /** Throws on an event that cannot be folded. */
  next(event: LogEvent): Announced {
    const callId = callIdOf(event)
    const isWithheld = event.type === 'assistant_msg' && this.#fold.withheld?.messageId === event.content.messageId
    const [turnBefore, phaseBefore] = [this.#openTurnId, this.#phase]
    const before = callId === null ? null : this.#fold.findCall(callId)
    this.#fold.apply(event)
    const after = callId === null ? null : this.#fold.findCall(callId)
    this.#phase = this.#phaseNow(before, after)
    const contents: LiveContent[] = announcementsOf(event, isWithheld, before?.call ?? null, after?.call ?? null)
    if (this.#openTurnId !== null && this.#openTurnId !== turnBefore)
      contents.push({ type: 'turn_started', turnId: this.#openTurnId })
    if (this.#phase !== phaseBefore) contents.push({ type: 'phase_changed', phase: viewPhase(this.#phase) })
    const { conversationId, seq } = event
    return {
      shown: isWithheld ? withoutContent(event as EventOf<'assistant_msg'>) : event,
      live: contents.map((content) => ({ conversationId, seq, ...content })),
    }
  }

  /** `before` and `after`: the call of the last event. */
  #phaseNow(before: FoundCall | null, after: FoundCall | null): ConversationPhase {
    const turn = this.#fold.openTurn()
    if (turn?.firstSeq !== this.#openSeq) this.#tally = tallyOf(turn?.calls ?? [])
    else if (before || after) {
      const [was, is] = [tallyIn(turn, before), tallyIn(turn, after)]
      const { open, pending } = this.#tally
      this.#tally = { open: open + is.open - was.open, pending: pending + is.pending - was.pending }
    }
    this.#openSeq = turn?.firstSeq ?? null
    this.#openTurnId = turn?.turnId ?? null
    return phaseOfTurn(turn, this.#tally)
  }
}

/** A call of another turn counts for nothing. */
function tallyIn(turn: TurnState | null, found: FoundCall | null): CallTally {
  return found && found.turn.firstSeq === turn?.firstSeq ? tallyOfCall(found.call) : noneOpen
}

/** The phase as people read it. */
export function viewPhase(phase: ConversationPhase): ViewPhase {
  return phase === 'awaiting_input' ? 'waiting' : phase
}

/** The call that an event is about. */
function callIdOf({ content }: LogEvent): string | null {
  return 'callId' in content ? (content.callId ?? null) : null
}

function announcementsOf(
  event: LogEvent,
  isWithheld: boolean,
  before: CallState | null,
  after: CallState | null,
): LiveContent[] {
  switch (event.type) {
    case 'assistant_msg': {
      const { turnId, messageId } = event.content
      return [{ type: isWithheld ? 'message_discarded' : 'message_completed', turnId, messageId }]
    }
    case 'tool_started': {
      const { callId, attempt } = event.content
      return [{ type: 'tool_call_started', callId, name: after?.name ?? '', attempt }]
    }
    case 'suspension': {
      const { callId, round, kind } = event.content
      return [{ type: 'suspended', callId, round, kind }]
    }
    case 'tool_result':
    case 'resolution': {
      const end = after && callEnd(after)
      return end && !(before && callEnd(before)) ? [callEnded(event.content.callId, end)] : []
    }
    case 'turn_ended':
      return [turnEnded(event.content)]
    default:
      return []
  }
}

function callEnded(callId: string, end: CallEnd): LiveContent {
  if (end.ok) return { type: 'tool_call_resolved', callId, result: end.result }
  return { type: 'tool_call_errored', callId, error: end.error, ...(end.userFacing ? { userFacing: true } : {}) }
}

function turnEnded({ turnId, status, reason }: EventOf<'turn_ended'>['content']): LiveContent {
  switch (status) {
    case 'completed':
      return { type: 'turn_completed', turnId }
    case 'failed':
      return { type: 'turn_failed', turnId, reason }
    case 'halted':
      return { type: 'turn_halted', turnId, reason }
    case 'cancelled':
      return { type: 'cancelled', turnId }
  }
}
