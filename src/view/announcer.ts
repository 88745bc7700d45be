import { type CallEnd, callEnd } from '../log/call-phase.ts'
import type { EventOf, LogEvent } from '../log/events.ts'
import { Fold } from '../log/fold-events.ts'
import { type CallTally, type ConversationPhase, phaseOfTurn, tallyOf } from '../log/fsm-state.ts'
import type { CallState, ConversationState, FoundCall } from '../log/state.ts'
import type { LiveContent, LiveEvent } from './live-event.ts'
import { emptied } from './without-withheld.ts'

export type Announced = {
  /** The event for watchers: a message that no hook has passed is empty. */
  readonly shown: LogEvent
  readonly live: readonly LiveEvent[]
}

/**
 * Goes over committed events one after the other and says what is told of each, so that every node announces the same whoever committed them. The calls of the
 * open turn are counted once; after that, an event costs the same however many there are.
 */
export class Announcer {
  readonly #fold: Fold
  /** The first seq of the open turn; null where none is open. */
  #openSeq: number | null = null
  #openTurnId: string | null = null
  #tally: CallTally = { open: 0, pending: 0 }
  #phase: ConversationPhase

  constructor(before: ConversationState) {
    this.#fold = new Fold(before)
    this.#phase = this.#phaseNow(null, null)
  }

  get lastSeq(): number {
    return this.#fold.lastSeq
  }

  /** With all events so far. Must be the last that is asked for. */
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
    if (this.#phase !== phaseBefore) contents.push({ type: 'state_changed', state: this.#phase })
    const { conversationId, seq } = event
    return {
      shown: isWithheld ? emptied(event as EventOf<'assistant_msg'>) : event,
      live: contents.map((content) => ({ conversationId, seq, ...content })),
    }
  }

  /** `before` and `after`: the call that the last event was about. */
  #phaseNow(before: FoundCall | null, after: FoundCall | null): ConversationPhase {
    const turn = this.#fold.openTurn()
    const tallyIn = (found: FoundCall | null) =>
      tallyOf(found && found.turn.firstSeq === turn?.firstSeq ? [found.call] : [])
    if (turn?.firstSeq !== this.#openSeq) this.#tally = tallyOf(turn?.calls ?? [])
    else if (before || after) {
      const [was, is] = [tallyIn(before), tallyIn(after)]
      const { open, pending } = this.#tally
      this.#tally = { open: open + is.open - was.open, pending: pending + is.pending - was.pending }
    }
    this.#openSeq = turn?.firstSeq ?? null
    this.#openTurnId = turn?.turnId ?? null
    return phaseOfTurn(turn, this.#tally)
  }
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
