import { expect, test } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
import { HeldLease, momentOf } from './held-lease.ts'

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
