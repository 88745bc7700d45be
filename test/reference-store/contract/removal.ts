import { forgetReferences } from './blobs.ts'
import type { Contract, Tenant } from './state.ts'

/** With all that belongs to it and its child agents; never its forks. */
export function deleteConversation(tenant: Tenant, id: string): boolean {
  tenant.snapshots.delete(id)
  tenant.tombstones.add(id)
  if (!tenant.conversations.delete(id)) return false
  for (const [callId, call] of tenant.calls) if (call.conversationId === id) tenant.calls.delete(callId)
  forgetReferences(tenant, id)
  const children = [...tenant.conversations.values()].filter(
    ({ parent }) => parent?.id === id && parent.callId !== undefined,
  )
  for (const child of children) deleteConversation(tenant, child.id)
  return true
}

export function deleteTenant(contract: Contract, name: string): number {
  const { conversations, tombstones } = contract.tenant(name)
  contract.tenants.delete(name)
  const left = contract.tenant(name).tombstones
  for (const id of [...tombstones, ...conversations.keys()]) left.add(id)
  return conversations.size
}
