import type { Span } from '../compare/span.ts'
import { quarantineLease } from '../contract/leases.ts'
import { Mismatch, type World } from '../world.ts'

type Place = { readonly tenant: string; readonly id: string; readonly via: number }

type Taken = Place & { readonly holder: string; readonly ttlMs: number; readonly lapsed: readonly number[] }

/** Gives the lease to the holder under the epoch the store chose, which must be greater than all before. */
export function takeLease(
  world: World,
  { tenant, id, via, holder, ttlMs, lapsed }: Taken,
  at: Span,
  epoch: number | undefined,
): number {
  checkEpoch(world, epoch)
  const lease = { holder, epoch, until: at.plus(ttlMs), claimedAt: at.copy(), lapsed }
  world.contract.tenant(tenant).conversations.get(id)!.lease = lease
  world.holding(via).took(tenant, id, holder, epoch)
  return epoch
}

/** The reference has quarantined it, and now learns the epoch, which only the record tells. */
export async function learnQuarantine(world: World, { tenant, id, via }: Place): Promise<void> {
  const conversation = world.contract.tenant(tenant).conversations.get(id)
  if (conversation?.lease?.epoch !== unknownEpoch) return
  const { quarantine } = (await world.handle(tenant, via).getConversation(id)) ?? {}
  checkEpoch(world, quarantine?.epoch)
  conversation.lease = { ...conversation.lease, epoch: quarantine!.epoch }
}

export function quarantined(lapsed: readonly number[], at: Span): ReturnType<typeof quarantineLease> {
  return quarantineLease(unknownEpoch, lapsed, at)
}

const unknownEpoch = -1

function checkEpoch(world: World, epoch: number | undefined): asserts epoch is number {
  if (epoch === undefined || !(epoch > world.contract.greatestEpoch)) {
    throw new Mismatch(`epoch ${epoch} was given after ${world.contract.greatestEpoch}`)
  }
  world.contract.greatestEpoch = epoch
}
