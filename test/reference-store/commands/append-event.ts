import type { NewEvent } from '../../../src/log/events.ts'
import { commit } from '../contract/commit.ts'
import type { World } from '../world.ts'

/** Appends to the log in the store and in the reference. */
export async function appendEvent(
  world: World,
  { tenant, id, via }: { tenant: string; id: string; via: number },
  event: NewEvent,
): Promise<void> {
  await world.act(
    () => world.handle(tenant, via).appendEvent(id, event),
    (at) => {
      const result = commit(world.contract.tenant(tenant), id, { events: [event] }, at, { creates: true })
      return result.ok ? result.seq : result
    },
  )
}
