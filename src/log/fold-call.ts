import { callPhase } from './call-phase.ts'
import type { DeadlineMoved, EventOf, LogEvent } from './events.ts'
import type { CallState, Round } from './state.ts'

/** The events about one call after its `tool_call`. */
export type CallEvent =
  | EventOf<
      'tool_started' | 'tool_asked' | 'suspension' | 'resolution' | 'deadline_moved' | 'tool_result' | 'state_refused'
    >
  | CallsStateSet

/** A change of state by a call; the application's own have no `callId`. */
export type CallsStateSet = EventOf<'state_set'> & { readonly content: { readonly callId: string } }

export function isCallEvent(event: LogEvent): event is CallEvent {
  if (event.type === 'state_set') return isOfCall(event)
  return callTypes.includes(event.type)
}

const callTypes: readonly string[] = [
  ...['tool_started', 'tool_asked', 'suspension', 'resolution', 'deadline_moved', 'tool_result', 'state_refused'],
]

export function isOfCall(event: EventOf<'state_set'>): event is CallsStateSet {
  return event.content.callId !== undefined
}

export function newCall({ seq, content: { turnId: _, ...call } }: EventOf<'tool_call'>): CallState {
  return { ...call, seq, attempts: 0, startedSeq: 0, rounds: [], result: null }
}

export function foldCall(given: CallState, event: CallEvent): CallState {
  // The state that a call sets comes right before its result. If a log was cut between the two, something else follows.
  const call = given.stateSet ? withoutStateSet(given) : given
  switch (event.type) {
    case 'tool_started':
      return { ...call, attempts: event.content.attempt, startedSeq: event.seq }
    case 'tool_asked': {
      const { round, state } = event.content
      return { ...call, asking: { round, state } }
    }
    case 'suspension': {
      const { callId: _, ...suspension } = event.content
      const { asking, ...rest } = call
      const isAsked = asking?.round === suspension.round && suspension.kind === 'elicitation'
      const toolState = isAsked ? { toolState: asking.state } : {}
      const round = { ...suspension, ...toolState, seq: event.seq, at: event.at, resolution: null }
      return { ...rest, rounds: [...call.rounds, round] }
    }
    case 'resolution': {
      const { callId: _, round, kind: __, ...rest } = event.content
      const resolution = { ...rest, seq: event.seq, at: event.at }
      const rounds = call.rounds.map((open) =>
        open.round === round && !open.resolution ? { ...open, resolution } : open,
      )
      return { ...call, rounds }
    }
    case 'deadline_moved': {
      const moved = { at: event.at, expiresInMs: event.content.expiresInMs }
      return waitsIn(call, event.content)
        ? { ...call, rounds: call.rounds.with(-1, { ...call.rounds.at(-1)!, moved }) }
        : call
    }
    case 'tool_result': {
      if (call.result) return call
      const { callId: _, ...result } = event.content
      return { ...call, result: { ...result, seq: event.seq } }
    }
    case 'state_set': {
      const { patch, exposed } = event.content
      return { ...call, stateSet: { patch, exposed } }
    }
    case 'state_refused':
      return { ...call, stateRefused: event.content.reason }
  }
}

/** The newest question of the call's own tool. */
export function askedRound({ rounds }: Pick<CallState, 'rounds'>): Round | undefined {
  return rounds.findLast((round) => round.toolState !== undefined)
}

/** Starts that no question ended: more than one means that an earlier one was interrupted. */
export function interruptibleAttempts({ attempts, rounds }: CallState): number {
  return attempts - rounds.filter((round) => round.toolState !== undefined).length
}

/** Whether the call waits in that round for an answer that may expire. A child agent has no deadline. */
export function waitsIn(call: CallState, { round }: Pick<DeadlineMoved, 'round'>): boolean {
  const phase = callPhase(call)
  return phase.type === 'pending' && phase.round.round === round && phase.round.kind !== 'sub_agent'
}

function withoutStateSet({ stateSet: _, ...call }: CallState): CallState {
  return call
}

type Identified = { readonly callId: string }

/** Lists shorter than this are always searched. */
const shortList = 16
/** Searches of a list before it gets an index. */
const searchesBeforeIndex = 4

/** Call positions shared by a list and its copies. Copies may grow differently, so a position is a guess that must be checked. */
type Index = { searches: number; readonly positions: Map<string, number> }

type Indexed = { readonly index: Index; covered: number }

const indexed = new WeakMap<readonly Identified[], Indexed>()

/**
 * The position of a call among the calls of a turn; -1 when the turn does not have it. Looking up all n calls of a message costs about n: a long list that is
 * searched repeatedly gets an index. The list must only grow at its end, and calls must keep their positions.
 */
export function callPosition(calls: readonly Identified[], callId: string): number {
  if (calls.length < shortList) return findPosition(calls, callId)
  const entry = indexOf(calls)
  entry.index.searches += 1
  if (entry.index.searches <= searchesBeforeIndex) return findPosition(calls, callId)
  const position = extendIndex(entry, calls).get(callId)
  if (position === undefined) return -1
  return calls[position]?.callId === callId ? position : findPosition(calls, callId)
}

/** Copies a list together with its index. */
export function copyCalls<Call extends Identified>(calls: readonly Call[]): Call[] {
  const copy = [...calls]
  const entry = indexed.get(calls)
  if (entry) indexed.set(copy, { ...entry })
  return copy
}

function findPosition(calls: readonly Identified[], callId: string): number {
  return calls.findIndex((call) => call.callId === callId)
}

function indexOf(calls: readonly Identified[]): Indexed {
  const entry = indexed.get(calls) ?? { index: { searches: 0, positions: new Map() }, covered: 0 }
  indexed.set(calls, entry)
  return entry
}

function extendIndex(entry: Indexed, calls: readonly Identified[]): Map<string, number> {
  const { positions } = entry.index
  for (; entry.covered < calls.length; entry.covered++) {
    const { callId } = calls[entry.covered]!
    if (!positions.has(callId)) positions.set(callId, entry.covered)
  }
  return positions
}
