import type { SuspensionKind } from '../../log/events.ts'
import type { TenantStore } from '../../store/store.ts'
import { assistantMsg, fsmState, suspension, toolCall, userMsg } from './event-builders.ts'

type Options = {
  readonly kind?: SuspensionKind
  readonly expiresInMs?: number | null
  readonly agent?: string
  readonly title?: string
}

/** The seq of the log that `suspendCalls` leaves: a message, an answer, and two events for each call. */
function seqAfter(callIds: readonly string[]): number {
  return 2 + 2 * callIds.length
}

/** A new conversation that waits for answers to these calls, as the runtime leaves it: parked, and not due. */
export async function suspendCalls(
  store: TenantStore,
  id: string,
  callIds: readonly string[],
  { kind = 'approval', expiresInMs = null, agent = 'support', title }: Options = {},
): Promise<void> {
  await store.commit(id, {
    events: [
      userMsg('I want my money back'),
      assistantMsg(callIds.map((callId) => ({ type: 'call', callId }))),
      ...callIds.map((callId) => toolCall(callId, { expiresInMs })),
      ...callIds.map((callId) => suspension(callId, { kind, expiresInMs })),
    ],
    calls: callIds.map((callId) => ({
      id: callId,
      name: 'refund',
      args: { cents: 100 },
      kind,
      prompt: 'Pay back?',
      expiresInMs,
    })),
    conversation: { agent, ...(title === undefined ? {} : { title }) },
    fsmState: fsmState('awaiting_input', seqAfter(callIds), callIds),
    wakeAt: null,
  })
}
