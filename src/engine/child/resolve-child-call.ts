import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Json } from '../../base/json.ts'
import type { Resolution } from '../../log/events.ts'
import { resolveRow } from './change-for.ts'
import type { FamilyParts } from './child-family.ts'
import type { ParentCall } from './family.ts'

/** Ends a call that a child agent works on, and has its conversation go on. Nothing happens when the call has ended, or is gone. */
export async function resolveChildCall(
  parts: Pick<FamilyParts, 'store' | 'agents' | 'giving'>,
  tenant: string,
  { conversationId, callId }: ParentCall,
  value: Json,
  who: string,
): Promise<void> {
  const store = parts.store.forTenant(tenant)
  const row = await store.getToolCall(callId)
  if (row?.status !== 'pending' || row.kind !== 'sub_agent') return
  const agent = (await store.getConversation(conversationId))?.agent ?? null
  const known = agent !== null && parts.agents.has(agent) ? agent : null
  const content: Resolution = { callId, round: row.round, kind: row.kind, status: 'resolved', value, who }
  try {
    await parts.giving({ tenant, id: conversationId }, known, async (lease) => {
      const events = [{ type: 'resolution' as const, content }]
      const change = { events, resolve: [resolveRow(content)], ...lease.acquire() }
      // Of all who end it, a cancel among them, one is accepted.
      const result = await store.commit(conversationId, change)
      if (result.ok) lease.got(result)
    })
  } catch (error) {
    if (!PerdureError.isInstance(error) || error.code !== 'conversation_not_found') throw error
  }
}
