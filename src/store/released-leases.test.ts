import { expect, test } from 'vitest'
import { userMsg } from '../testing/conformance/event-builders.ts'
import { createStore } from './create-store.ts'
import { memoryDriver } from './memory/memory-store.ts'

/** A store whose driver lets go of leases at once and acknowledges it when it is told to. */
async function storeThatAnswersLate() {
  const acknowledged = Promise.withResolvers<void>()
  const driver = memoryDriver()
  const late = createStore({
    ...driver,
    async commit(...args) {
      const outcome = await driver.commit(...args)
      if (args[2].releasesLease) await acknowledged.promise
      return outcome
    },
    async releaseLease(...args) {
      await driver.releaseLease(...args)
      await acknowledged.promise
    },
  })
  await late.commit('chat', { events: [userMsg()] })
  const { epoch } = (await late.acquireLease('chat', 'node', 60_000))!
  const known = [{ tenant: 'default', id: 'chat', epoch, seq: 1 }]
  return { store: late, driver, epoch, known, acknowledge: acknowledged.resolve }
}

test.each([
  ['a release', 'releaseLease'],
  ['a commit that releases', 'commit'],
] as const)(
  'a lease that %s has released is not reported as lost before the acknowledgement arrives',
  async (_, way) => {
    const { store, epoch, known, acknowledge } = await storeThatAnswersLate()
    const letGo =
      way === 'commit'
        ? store.commit('chat', { events: [], epoch, lease: 'release' })
        : store.releaseLease('chat', epoch)
    await Promise.resolve()
    expect((await store.keepLeases('node', 60_000, known)).lost).toEqual([])
    acknowledge()
    await letGo
    expect((await store.keepLeases('node', 60_000, known)).lost).toEqual([])
    await store.close()
  },
)

test('a lost lease is reported when the commit that would have released it is refused', async () => {
  const { store, driver, epoch, known, acknowledge } = await storeThatAnswersLate()
  await driver.releaseLease('default', 'chat', epoch)
  await driver.claimLease('default', 'chat', 'other', 60_000, { suspects: true, limits: {} })
  acknowledge()
  expect(await store.commit('chat', { events: [], epoch, lease: 'release' })).toMatchObject({ conflict: 'epoch' })
  expect((await store.keepLeases('node', 60_000, known)).lost).toEqual([{ tenant: 'default', id: 'chat', epoch }])
  await store.close()
})
