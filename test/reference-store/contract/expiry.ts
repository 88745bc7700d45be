import type { Span } from '../compare/span.ts'
import type { Call, Tenant } from './state.ts'

const expiredResult = { ok: false, error: 'tool call expired: no response' }

/** Ends a call whose deadline has passed. A dormant fork records it and is left alone. */
export function expire(tenant: Tenant, call: Call, at: Span): void {
  const conversation = tenant.conversations.get(call.conversationId)!
  const { id: callId, round, kind } = call
  const content = { callId, round, kind, status: 'expired', value: expiredResult, who: 'system' }
  conversation.events.push({ type: 'resolution', content, at: at.copy() })
  tenant.calls.set(callId, { ...call, status: 'expired', result: expiredResult, resolvedAt: at.copy() })
  conversation.updatedAt = at.copy()
  if (conversation.isDormant) return
  conversation.wakeAt = at.copy()
  conversation.status = 'active'
}

/** Those whose deadline has certainly passed at `now`. */
export function dueCalls(tenant: Tenant, now: number): Call[] {
  return [...tenant.calls.values()].filter(
    ({ status, expiresAt }) => status === 'pending' && expiresAt !== null && expiresAt.hi <= now,
  )
}
