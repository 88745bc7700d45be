import { describe, expect, test } from 'vitest'
import { StoreClosedError, StoreError } from '../../base/errors/store-errors.ts'
import { silentLogger } from '../../base/logger.ts'
import type { KnownLease, LeaseNews } from '../../store/lease.ts'
import type { Store } from '../../store/store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { HeldLease, LeaseKeeper, momentOf } from './lease-keeper.ts'

const leaseMs = 900
const ref = { tenant: 'default', id: 'chat' }
const noNews: LeaseNews = { lost: [], grown: [], strays: [] }

/** A keeper of one lease, over a store that answers renewals when the test says so. */
function keeping() {
  const clock = fakeClock()
  const asked: { known: readonly KnownLease[]; answer(news?: LeaseNews): void; fail(error: Error): void }[] = []
  const released: number[] = []
  const store = {
    keepLeases: (_holder: string, _ttlMs: number, known: readonly KnownLease[]) =>
      new Promise<LeaseNews>((resolve, reject) =>
        asked.push({ known, answer: (news = noNews) => resolve(news), fail: reject }),
      ),
    forTenant: () => ({ releaseLease: async (_: string, epoch: number) => void released.push(epoch) }),
  } as unknown as Store
  const leases: HeldLease[] = []
  const lost: HeldLease[] = []
  const warned: [message: string, fields: unknown][] = []
  const warn = (message: string, fields?: object) => void warned.push([message, fields])
  const logger = { ...silentLogger, warn, error: warn }
  const node = { store, clock, leaseMs, holder: 'one', logger, warnOfStore: warn, observer: null }
  const keeper = new LeaseKeeper(node, {
    held: () => leases.map((lease) => ({ lease, seq: 1 })),
    isBeingTaken: () => false,
    claiming: () => null,
    onLost: (lease) => void lost.push(lease),
    onGrown: () => {},
    onGivenBack: () => {},
  })
  const lease = keeper.holding(ref, 7, momentOf(clock))
  leases.push(lease)
  const settled = () => clock.advance(0)
  return { clock, keeper, lease, leases, asked, released, lost, warned, settled }
}

test('leases are renewed three times in their time, whether the last renewal was answered or not', async () => {
  const { clock, keeper, asked } = keeping()
  keeper.start()
  await clock.advance(leaseMs)
  expect(asked.map(({ known }) => known)).toEqual(Array(3).fill([{ ...ref, epoch: 7, seq: 1 }]))
  keeper.stop()
  await clock.advance(leaseMs)
  expect(asked).toHaveLength(3)
})

test('the first renewal comes after a third of the time, and each next one after another third', async () => {
  const { clock, keeper, asked } = keeping()
  keeper.start()
  const renewals: number[] = []
  for (const ms of [299, 1, 299, 1, 299, 1]) {
    await clock.advance(ms)
    renewals.push(asked.length)
  }
  expect(renewals).toEqual([0, 1, 1, 2, 2, 3])
  keeper.stop()
})

test('no more than three renewals are under way at once', async () => {
  const { clock, keeper, asked } = keeping()
  keeper.start()
  await clock.advance(10 * leaseMs)
  expect(asked).toHaveLength(3)
  asked[1]!.answer()
  await clock.advance(leaseMs)
  expect(asked).toHaveLength(4)
})

test('those who ask for a renewal together share one', async () => {
  const { keeper, asked, settled } = keeping()
  const renewals = Array.from({ length: 10 }, () => keeper.renew())
  await settled()
  expect(asked).toHaveLength(1)
  asked[0]!.answer()
  await Promise.all(renewals)
  expect(asked).toHaveLength(1)
})

test('a renewal that is answered late makes nothing certain', async () => {
  const { clock, keeper, lease, asked, settled } = keeping()
  const renewal = keeper.renew()
  await settled()
  await clock.advance(leaseMs)
  asked[0]!.answer()
  await renewal
  expect(lease.isCertain()).toBe(false)
  const again = keeper.renew()
  await settled()
  asked[1]!.answer()
  await again
  expect(lease.isCertain()).toBe(true)
})

test('what is found under the name of this process and is not known is given back; what is lost is told of', async () => {
  const { keeper, lease, asked, released, lost, warned, settled } = keeping()
  const renewal = keeper.renew()
  await settled()
  asked[0]!.answer({ lost: [{ ...ref, epoch: 7 }], grown: [], strays: [{ tenant: 'default', id: 'stray', epoch: 9 }] })
  await renewal
  expect({ released, lost }).toEqual({ released: [9], lost: [lease] })
  const stray = { tenant: 'default', id: 'stray', epoch: 9 }
  expect(warned).toEqual([['released a lease whose acknowledgement was lost', stray]])
})

test('where a lease may have been left behind it is looked for until the store answers, also when nothing else is held', async () => {
  const { clock, keeper, leases, asked, settled } = keeping()
  keeper.start()
  leases.pop()
  keeper.lookForStrays()
  await settled()
  asked[0]!.fail(new Error('away'))
  await clock.advance(leaseMs / 3)
  expect(asked).toHaveLength(2)
})

test('a renewal that fails is told of, unless none is wanted any more', async () => {
  const { keeper, asked, warned, settled } = keeping()
  const away = new StoreError('away')
  const fail = async () => {
    const renewal = keeper.renew()
    await settled()
    return { renewal, failing: asked.at(-1)! }
  }
  const first = await fail()
  first.failing.fail(away)
  await first.renewal
  expect(warned).toEqual([['renewing leases failed; trying again', { error: away }]])
  const last = await fail()
  keeper.stop()
  last.failing.fail(away)
  await last.renewal
  expect(warned).toHaveLength(1)
})

test('a store that is closed is the end of all leases', async () => {
  const { clock, keeper, lease, asked, lost, warned, settled } = keeping()
  keeper.start()
  const renewal = keeper.renew()
  await settled()
  asked[0]!.fail(new StoreClosedError())
  await renewal
  expect(lost).toEqual([lease])
  expect(warned).toEqual([['the store is closed: releasing all conversations', { error: new StoreClosedError() }]])
  await clock.advance(leaseMs)
  expect(asked).toHaveLength(1)
})

describe('a held lease', () => {
  const leaseMs = 1_000
  const ref = { tenant: 'default', id: 'chat' }

  function taken() {
    const clock = fakeClock()
    const lease = new HeldLease(ref, 7, momentOf(clock), { clock, leaseMs, renew: async () => {}, onLost: () => {} })
    return { clock, lease }
  }

  test('a lease is certain for as long as it lasts, from the moment it was asked for', async () => {
    const { clock, lease } = taken()
    await clock.advance(leaseMs - 1)
    expect(lease.isCertain()).toBe(true)
    await clock.advance(1)
    expect(lease.isCertain()).toBe(false)
  })

  test('a renewal counts from the moment it was asked for, and an earlier one that is answered later counts for nothing', async () => {
    const { clock, lease } = taken()
    const first = momentOf(clock)
    await clock.advance(600)
    const second = momentOf(clock)
    await clock.advance(600)
    lease.renewed(second)
    expect(lease.isCertain()).toBe(true)
    lease.renewed(first)
    expect(lease.isCertain()).toBe(true)
    await clock.advance(400)
    expect(lease.isCertain()).toBe(false)
  })

  test('setting the time of day back does not make a lease last longer', async () => {
    const { clock, lease } = taken()
    await clock.set(clock.now() - 60_000)
    await clock.advance(leaseMs)
    expect(lease.isCertain()).toBe(false)
  })

  test('a lease is not certain after the machine slept, also where the clock that never goes back stood still meanwhile', () => {
    const { clock, lease } = taken()
    const asleep = { ...clock, now: () => clock.now() + leaseMs }
    const sleepers = new HeldLease(ref, 7, momentOf(clock), {
      clock: asleep,
      leaseMs,
      renew: async () => {},
      onLost: () => {},
    })
    expect([lease.isCertain(), sleepers.isCertain()]).toEqual([true, false])
  })

  test('a lease that is lost is not certain', () => {
    const { lease } = taken()
    lease.lose()
    expect(lease.isCertain()).toBe(false)
  })
})
