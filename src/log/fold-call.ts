import type { EventOf, LogEvent } from './events.ts'
import type { CallState } from './state.ts'

/** The events that are about one call after its `tool_call`. */
export type CallEvent = EventOf<'tool_started' | 'suspension' | 'resolution' | 'tool_result'>

export function isCallEvent(event: LogEvent): event is CallEvent {
  return ['tool_started', 'suspension', 'resolution', 'tool_result'].includes(event.type)
}

export function newCall({ seq, content: { turnId: _, ...call } }: EventOf<'tool_call'>): CallState {
  return { ...call, seq, attempts: 0, startedSeq: 0, rounds: [], result: null }
}

export function foldCall(call: CallState, event: CallEvent): CallState {
  switch (event.type) {
    case 'tool_started':
      return { ...call, attempts: event.content.attempt, startedSeq: event.seq }
    case 'suspension': {
      const { callId: _, ...suspension } = event.content
      return { ...call, rounds: [...call.rounds, { ...suspension, seq: event.seq, at: event.at, resolution: null }] }
    }
    case 'resolution': {
      const { callId: _, round, kind: __, ...rest } = event.content
      const resolution = { ...rest, seq: event.seq, at: event.at }
      const rounds = call.rounds.map((open) =>
        open.round === round && !open.resolution ? { ...open, resolution } : open,
      )
      return { ...call, rounds }
    }
    case 'tool_result': {
      const { callId: _, ...result } = event.content
      return call.result ? call : { ...call, result: { ...result, seq: event.seq } }
    }
  }
}

type Identified = { readonly callId: string }

/** Shorter lists are searched, however often. */
const shortList = 16
/** A list that is searched once or twice is not worth an index. */
const searchesBeforeIndex = 4

/** What a list and its copies know of where calls are. Copies may go on differently, so a position is a guess that is checked. */
type Index = { searches: number; readonly positions: Map<string, number> }

type Indexed = { readonly index: Index; covered: number }

const indexed = new WeakMap<readonly Identified[], Indexed>()

/**
 * Where a call is among the calls of a turn; -1 when it is not there. Going over all calls of a message costs no more than their number: a long list that is
 * searched again and again gets an index. Such a list must only grow at its end, and keep each call in its place.
 */
export function callPosition(calls: readonly Identified[], callId: string): number {
  if (calls.length < shortList) return searched(calls, callId)
  const known = indexOf(calls)
  known.index.searches += 1
  if (known.index.searches <= searchesBeforeIndex) return searched(calls, callId)
  const position = covering(known, calls).get(callId)
  if (position === undefined) return -1
  return calls[position]?.callId === callId ? position : searched(calls, callId)
}

/** A list that goes on from another one, with what is known of where its calls are. */
export function copyCalls<Call extends Identified>(calls: readonly Call[]): Call[] {
  const copy = [...calls]
  const known = indexed.get(calls)
  if (known) indexed.set(copy, { ...known })
  return copy
}

function searched(calls: readonly Identified[], callId: string): number {
  return calls.findIndex((call) => call.callId === callId)
}

function indexOf(calls: readonly Identified[]): Indexed {
  const known = indexed.get(calls) ?? { index: { searches: 0, positions: new Map() }, covered: 0 }
  indexed.set(calls, known)
  return known
}

function covering(known: Indexed, calls: readonly Identified[]): Map<string, number> {
  const { positions } = known.index
  for (; known.covered < calls.length; known.covered++) {
    const { callId } = calls[known.covered]!
    if (!positions.has(callId)) positions.set(callId, known.covered)
  }
  return positions
}
