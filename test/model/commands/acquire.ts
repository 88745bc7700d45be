import { isLeased } from '../contract/leases.ts'
import type { World } from '../world.ts'
import { takeLease } from './take-lease.ts'

type Place = { readonly tenant: string; readonly id: string; readonly via: number }

/** Takes a lease in the store and in the model. */
export async function acquire(
  world: World,
  { tenant, id, via, holder, ttlMs }: Place & { readonly holder: string; readonly ttlMs: number },
): Promise<{ epoch: number } | null | undefined> {
  return world.act(
    () => world.handle(tenant, via).acquireLease(id, holder, ttlMs),
    (at, actual) => {
      const conversation = world.contract.tenant(tenant).conversations.get(id)
      if (!conversation || (isLeased(conversation, at) && conversation.lease?.holder !== holder)) return null
      return { epoch: takeLease(world, { tenant, id, via, holder, ttlMs }, at, actual?.epoch) }
    },
  )
}

const hour = 3_600_000

/** What an owner's commit needs: the epoch it has, or takes where a call waits. Sometimes without, which must be refused. */
export async function asOwner(world: World, place: Place): Promise<{ epoch?: number }> {
  const tenant = world.contract.tenant(place.tenant)
  const conversation = tenant.conversations.get(place.id)
  if (!conversation || world.counter % 5 === 0) return {}
  if (conversation.lease) return { epoch: conversation.lease.epoch }
  const isWaiting = [...tenant.calls.values()].some(
    ({ conversationId, status }) => conversationId === place.id && status === 'pending',
  )
  if (!isWaiting) return {}
  const taken = await acquire(world, { ...place, holder: 'owner', ttlMs: hour })
  return taken ? { epoch: taken.epoch } : {}
}
