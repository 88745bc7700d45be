import type { Span } from '../compare/span.ts'
import { claim } from '../contract/leases.ts'
import type { World } from '../world.ts'
import { learnQuarantine, quarantined, takeLease } from './take-lease.ts'

type Place = { readonly tenant: string; readonly id: string; readonly via: number }

type Acquire = Place & { readonly holder: string; readonly ttlMs: number }

/** Takes a lease in the store and in the reference. */
export async function acquire(world: World, request: Acquire): Promise<{ epoch: number } | null | undefined> {
  const { tenant, id, via, holder, ttlMs } = request
  return world.act(
    () => world.handle(tenant, via).acquireLease(id, holder, ttlMs),
    async (at, actual) => {
      const expected = await claimed(world, { ...request, suspects: true }, at, actual?.epoch)
      return expected.type === 'taken' ? { epoch: expected.epoch } : null
    },
  )
}

/** The same, with what the claim found. */
export async function claimLease(world: World, request: Acquire & { readonly suspects: boolean }): Promise<void> {
  const { tenant, id, via, holder, ttlMs, suspects } = request
  await world.act(
    () => world.handle(tenant, via).claimLease(id, holder, ttlMs, { suspects }),
    (at, actual) => claimed(world, request, at, actual?.type === 'taken' ? actual.epoch : undefined),
  )
}

/** What the store must answer; the reference has the lease then. */
async function claimed(
  world: World,
  { tenant, id, via, holder, ttlMs, suspects }: Acquire & { readonly suspects: boolean },
  at: Span,
  epoch: number | undefined,
): Promise<{ type: string; epoch?: number; lapses?: number }> {
  const conversation = world.contract.tenant(tenant).conversations.get(id)
  if (!conversation) return { type: 'held' }
  const asked = claim(conversation, { holder, suspects }, at)
  if (asked.type === 'quarantined') {
    conversation.lease = quarantined(asked.lapsed, at)
    await learnQuarantine(world, { tenant, id, via })
  }
  if (asked.type !== 'taken') return { type: asked.type }
  const { lapsed } = asked
  const given = takeLease(world, { tenant, id, via, holder, ttlMs, lapsed }, at, epoch)
  return { type: 'taken', epoch: given, lapses: lapsed.length }
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
