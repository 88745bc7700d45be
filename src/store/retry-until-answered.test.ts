import { expect, test } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import { type Lease, retryUntilAnswered } from './lease.ts'

function leaseOf(renewals: readonly boolean[]) {
  const counts = { renewals: 0 }
  let isCertain = false
  const lease: Lease = {
    epoch: 1,
    isCertain: () => isCertain,
    renew: async () => {
      isCertain = renewals[counts.renewals] ?? false
      counts.renewals += 1
    },
    lose: () => {},
  }
  return { lease, counts }
}

test('a certain lease is not renewed', async () => {
  const lease: Lease = {
    epoch: 1,
    isCertain: () => true,
    renew: () => Promise.reject(new Error('renewed')),
    lose: () => {},
  }
  expect(await retryUntilAnswered(lease, fakeClock(), () => false)).toBe(true)
})

test('an uncertain lease is renewed until it is certain, less and less often', async () => {
  const clock = fakeClock()
  const { lease, counts } = leaseOf([false, false, false, true])
  const waiting = retryUntilAnswered(lease, clock, () => false)
  await clock.advance(20 + 40 + 79)
  expect(counts.renewals).toBe(3)
  await clock.advance(1)
  expect(await waiting).toBe(true)
  expect(counts.renewals).toBe(4)
})

test('it ends when it is called off', async () => {
  const clock = fakeClock()
  let isCalledOff = false
  const { lease } = leaseOf([])
  const waiting = retryUntilAnswered(lease, clock, () => isCalledOff)
  await clock.advance(500)
  isCalledOff = true
  await clock.advance(1_000)
  expect(await waiting).toBe(false)
})
