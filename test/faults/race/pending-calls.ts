import type { NewEvent } from '../../../src/log/events.ts'
import type { TenantStore } from '../../../src/store/store.ts'

/** A call that waits, and where. */
export type WaitingCall = { readonly callId: string; readonly conversation: string }

/** Opens one conversation with as many waiting calls as `deadlinesMs` has members; null: no deadline. */
export async function suspendCalls(
  store: TenantStore,
  conversation: string,
  deadlinesMs: readonly (number | null)[],
): Promise<WaitingCall[]> {
  const calls = deadlinesMs.map((expiresInMs, index) => ({
    id: `${conversation}/call${index}`,
    name: 'refund',
    expiresInMs,
  }))
  const opening: NewEvent = {
    type: 'user_msg',
    content: { turnId: conversation, message: { parts: [] }, options: {}, who: 'somebody' },
  }
  const suspensions = calls.map(
    ({ id, expiresInMs }): NewEvent => ({
      type: 'suspension',
      content: { callId: id, round: 1, kind: 'approval', prompt: null, schema: true, expiresInMs },
    }),
  )
  const result = await store.commit(conversation, { events: [opening, ...suspensions], calls })
  if (!result.ok) throw new Error(`${conversation} could not be opened: ${result.conflict}`)
  return calls.map(({ id }) => ({ callId: id, conversation }))
}
