import type { EventContents } from '../../../src/log/events.ts'
import type { Span } from '../compare/span.ts'
import type { Event } from './state.ts'

type Suspension = EventContents['suspension']
type DeadlineMoved = EventContents['deadline_moved']

/** A call as its events tell it, by the rules of how a call ends. */
export type CallState = {
  readonly call: EventContents['tool_call']
  /** Of its `tool_call`. */
  readonly seq: number
  isStarted: boolean
  isEnded: boolean
  isApproved: boolean
  /** The suspension without an answer. */
  pending: (Suspension & { readonly at: Span }) | null
  /** When that suspension expires. */
  deadline: Span | null
}

export function callStates(events: readonly Event[]): Map<string, CallState> {
  const states = new Map<string, CallState>()
  for (const [index, { type, content, at }] of events.entries()) {
    if (type === 'tool_call') {
      const call = content as EventContents['tool_call']
      states.set(call.callId, {
        call,
        seq: index + 1,
        isStarted: false,
        isEnded: false,
        isApproved: false,
        pending: null,
        deadline: null,
      })
      continue
    }
    const state = states.get((content as { callId?: string }).callId ?? '')
    if (!state) continue
    if (type === 'tool_started') state.isStarted = true
    if (type === 'tool_result') state.isEnded = true
    if (type === 'suspension') {
      state.pending = { ...(content as Suspension), at }
      state.deadline = after(at, content as Suspension)
    }
    if (type === 'deadline_moved' && isMovable(state, content as DeadlineMoved)) {
      state.deadline = after(at, content as DeadlineMoved)
    }
    if (type === 'resolution') answer(state, content as EventContents['resolution'])
  }
  return states
}

export function openCalls(events: readonly Event[]): CallState[] {
  return [...callStates(events).values()].filter(({ isEnded }) => !isEnded)
}

function after(at: Span, { expiresInMs }: Pick<Suspension, 'expiresInMs'>): Span | null {
  return expiresInMs === null ? null : at.plus(expiresInMs)
}

function isMovable({ pending, isEnded }: CallState, { round }: DeadlineMoved): boolean {
  return !isEnded && pending?.round === round && pending.kind !== 'sub_agent'
}

function answer(state: CallState, { round, status }: EventContents['resolution']): void {
  if (state.pending?.round !== round) return
  const goesOn = status === 'resolved' && ['approval', 'recovery'].includes(state.pending.kind)
  if (!goesOn) state.isEnded = true
  else if (state.pending.kind === 'approval') state.isApproved = true
  state.pending = null
}
