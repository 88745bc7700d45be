import { type CallEnd, callEnd } from '../log/call-phase.ts'
import type { EventOf, LogEvent } from '../log/events.ts'
import { phaseOf } from '../log/fsm-state.ts'
import { type ConversationState, findCall, openTurn } from '../log/state.ts'
import { foldWithin, shownBytes } from '../log/trim-state.ts'
import type { LiveContent, LiveEvent } from './live-event.ts'
import { emptied } from './without-withheld.ts'

export type Announced = {
  readonly state: ConversationState
  /** The event for watchers: a message that no hook has passed is empty. */
  readonly shown: LogEvent
  readonly live: readonly LiveEvent[]
}

/** What is told of a committed event, so that every node announces the same whoever committed it. */
export function announce(before: ConversationState, event: LogEvent): Announced {
  const state = foldWithin([event], before, 8 * shownBytes, shownBytes)
  const shown = event.type === 'assistant_msg' && isWithheld(before, event) ? emptied(event) : event
  const contents = [...announcementsOf(event, before, state), ...changesOf(before, state)]
  return {
    state,
    shown,
    live: contents.map((content) => ({ conversationId: event.conversationId, seq: event.seq, ...content })),
  }
}

function isWithheld({ withheld }: ConversationState, { content }: EventOf<'assistant_msg'>): boolean {
  return withheld?.messageId === content.messageId
}

function announcementsOf(event: LogEvent, before: ConversationState, state: ConversationState): LiveContent[] {
  switch (event.type) {
    case 'assistant_msg': {
      const { turnId, messageId } = event.content
      return [{ type: isWithheld(before, event) ? 'message_discarded' : 'message_completed', turnId, messageId }]
    }
    case 'tool_started': {
      const { callId, attempt } = event.content
      return [{ type: 'tool_call_started', callId, name: findCall(state, callId)?.call.name ?? '', attempt }]
    }
    case 'suspension': {
      const { callId, round, kind } = event.content
      return [{ type: 'suspended', callId, round, kind }]
    }
    case 'tool_result':
    case 'resolution': {
      const { callId } = event.content
      const end = endOfCall(state, callId)
      if (!end || endOfCall(before, callId)) return []
      return [
        end.ok
          ? { type: 'tool_call_resolved', callId, result: end.result }
          : { type: 'tool_call_errored', callId, error: end.error, ...(end.userFacing ? { userFacing: true } : {}) },
      ]
    }
    case 'turn_ended':
      return [turnEnded(event.content)]
    default:
      return []
  }
}

function endOfCall(state: ConversationState, callId: string): CallEnd | null {
  const found = findCall(state, callId)
  return found && callEnd(found.call)
}

function turnEnded({ turnId, status, reason }: Extract<LogEvent, { type: 'turn_ended' }>['content']): LiveContent {
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

function changesOf(before: ConversationState, after: ConversationState): LiveContent[] {
  const changes: LiveContent[] = []
  const [was, is] = [openTurn(before), openTurn(after)]
  if (is && is.turnId !== was?.turnId) changes.push({ type: 'turn_started', turnId: is.turnId })
  const phase = phaseOf(after)
  if (phase !== phaseOf(before)) changes.push({ type: 'state_changed', state: phase })
  return changes
}
