import { silentLogger } from '../../src/base/logger.ts'
import type { Change } from '../../src/store/change.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { TenantStore } from '../../src/store/store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'

/** What a test does before the store does what it is asked for. */
type Meddle = { commit(change: Change): unknown; read(): unknown; summary(): unknown }

/** A log in memory that begins with `change`, under a lease, by a clock that tests move: what an owner of it needs. */
export async function ownedLog(ref: { readonly tenant: string; readonly id: string }, change: Change) {
  const clock = fakeClock()
  const all = memoryStore({ clock, logger: silentLogger })
  const real = all.forTenant(ref.tenant)
  await real.commit(ref.id, change)
  const claimed = await real.claimLease(ref.id, 'one', 3_600_000)
  if (claimed.type !== 'taken') throw new Error(`the lease is ${claimed.type}`)
  const { epoch } = claimed
  const meddle: Meddle = { commit: () => {}, read: () => {}, summary: () => {} }
  const commits: Change[] = []
  const released: number[] = []
  const store: TenantStore = {
    ...real,
    async commit(id, change) {
      await meddle.commit(change)
      const result = await real.commit(id, change)
      commits.push(change)
      return result
    },
    async streamEvents(id, range) {
      await meddle.read()
      return real.streamEvents(id, range)
    },
    async pageEvents(id, range) {
      await meddle.read()
      return real.pageEvents(id, range)
    },
    async putSummary(id, summary) {
      await meddle.summary()
      return real.putSummary(id, summary)
    },
    async releaseLease(id, epoch) {
      released.push(epoch)
      await real.releaseLease(id, epoch)
    },
  }
  const lost: number[] = []
  const lease = { epoch, isCertain: () => true, renew: async () => {}, lose: () => void lost.push(epoch) }
  const types = async () => (await real.streamEvents(ref.id)).map(({ type }) => type)
  /** Lets so much time pass. Code is given several turns of the event loop before and after. */
  const pass = async (ms: number) => {
    for (let turn = 0; turn < 20; turn++) await clock.advance(0)
    await clock.advance(ms)
    for (let turn = 0; turn < 20; turn++) await clock.advance(0)
  }
  return { all, real, store, meddle, commits, released, lease, lost, epoch, clock, types, pass }
}
