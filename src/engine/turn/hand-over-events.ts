import { callPhase } from '../../log/call-phase.ts'
import type { NewEvent } from '../../log/events.ts'
import { onInterrupted } from '../../log/next-step.ts'
import { type Outcome, settle } from '../../log/settle.ts'
import { type ConversationState, findCall } from '../../log/state.ts'

/** What an owner that ends in good order leaves to the next: results it has in hand, and of the calls it stopped what their tools say. */
export function handOverEvents(
  state: ConversationState,
  outcomes: readonly Outcome[],
  interrupted: readonly string[],
): NewEvent[] {
  const results = outcomes.filter((outcome) => outcome.type === 'result')
  return [
    ...results.flatMap((outcome) => settle(state, outcome)),
    ...interrupted.flatMap((callId) => interruptedEvents(state, callId)),
  ]
}

function interruptedEvents(state: ConversationState, callId: string): NewEvent[] {
  const call = findCall(state, callId)?.call
  if (!call || callPhase(call).type !== 'started' || call.ifInterrupted === 'rerun') return []
  return [onInterrupted(call)]
}
