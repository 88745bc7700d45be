import type { Span } from '../compare/span.ts'
import { Mismatch, type World } from '../world.ts'

type Taken = {
  readonly tenant: string
  readonly id: string
  readonly via: number
  readonly holder: string
  readonly ttlMs: number
}

/** Gives the lease to the holder under the epoch the store chose, which must be greater than all before. */
export function takeLease(
  world: World,
  { tenant, id, via, holder, ttlMs }: Taken,
  at: Span,
  epoch: number | undefined,
): number {
  if (epoch === undefined || !(epoch > world.contract.greatestEpoch)) {
    throw new Mismatch(`epoch ${epoch} was given after ${world.contract.greatestEpoch}`)
  }
  world.contract.greatestEpoch = epoch
  world.contract.tenant(tenant).conversations.get(id)!.lease = { holder, epoch, until: at.plus(ttlMs) }
  world.holding(via).took(tenant, id, holder, epoch)
  return epoch
}
