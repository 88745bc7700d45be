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
