import { expect, test } from 'vitest'
import { isSuspect, judgeClaim, lapseWithinMs, quarantineUntil, type StoredLease, withoutLapse } from './lease.ts'

const now = 1_000_000
const claim = { holder: 'me', epoch: () => 9, ttlMs: 500, suspects: true }
const lease = (more: Partial<StoredLease> = {}): StoredLease => {
  return { holder: 'other', epoch: 3, until: now, claimedAt: now - 100, lapsed: [], ...more }
}
const taken = (lapsed: number[]) => ({
  outcome: { type: 'taken', epoch: 9, lapses: lapsed.length },
  lease: { holder: 'me', epoch: 9, until: now + 500, claimedAt: now, lapsed },
})

test('a free lease is taken; another holder’s lease is not, until the moment it ends', () => {
  expect(judgeClaim(null, claim, now)).toEqual(taken([]))
  expect(judgeClaim(lease({ until: now + 1 }), claim, now)).toEqual({ outcome: { type: 'held' }, lease: null })
  expect(judgeClaim(lease(), claim, now)).toEqual(taken([3]))
})

test('a lease lapses when it ends soon after its claim, but not for a holder that reclaims its own', () => {
  const claimedAt = now - lapseWithinMs
  expect(judgeClaim(lease({ claimedAt }), claim, now)).toEqual(taken([3]))
  expect(judgeClaim(lease({ claimedAt: claimedAt - 1 }), claim, now)).toEqual(taken([]))
  expect(judgeClaim(lease({ claimedAt: null }), claim, now)).toEqual(taken([]))
  expect(judgeClaim(lease({ holder: 'me' }), claim, now)).toEqual(taken([]))
  expect(judgeClaim(lease({ holder: 'me', until: now + 9, lapsed: [1] }), claim, now)).toEqual(taken([1]))
})

test('a claim with suspects false leaves a lease with lapses alone, before it draws an epoch', () => {
  const shy = { ...claim, suspects: false, epoch: () => expect.fail('an epoch was drawn') }
  expect(judgeClaim(lease(), shy, now)).toEqual({ outcome: { type: 'suspect' }, lease: null })
  expect(judgeClaim(lease({ claimedAt: null, lapsed: [1] }), shy, now).outcome).toEqual({ type: 'suspect' })
  expect(judgeClaim(lease({ claimedAt: null }), { ...claim, suspects: false }, now)).toEqual(taken([]))
})

test('the fifth lapse in a row quarantines', () => {
  expect(judgeClaim(lease({ epoch: 4, lapsed: [1, 2, 3] }), claim, now)).toEqual(taken([1, 2, 3, 4]))
  expect(judgeClaim(lease({ epoch: 5, lapsed: [1, 2, 3, 4] }), claim, now)).toEqual({
    outcome: { type: 'quarantined' },
    lease: { holder: 'quarantined', epoch: 9, until: quarantineUntil, claimedAt: now, lapsed: [1, 2, 3, 4, 5] },
  })
})

test('a lease is suspect when it has lapses, or would have for another holder', () => {
  expect([isSuspect(null, now), isSuspect(lease({ claimedAt: null }), now)]).toEqual([false, false])
  expect([isSuspect(lease({ until: now + 1 }), now), isSuspect(lease(), now)]).toEqual([false, true])
  expect(isSuspect(lease({ until: now + 1, lapsed: [1] }), now)).toBe(true)
})

test('a lapse that is taken back counts no more, and ends a quarantine that it brought about', () => {
  const quarantined = lease({ holder: 'quarantined', until: quarantineUntil, lapsed: [1, 2, 3, 4, 5] })
  expect(withoutLapse(quarantined, 2)).toEqual({ ...quarantined, lapsed: [1, 3, 4, 5], until: 0, claimedAt: null })
  expect(withoutLapse(quarantined, 7)).toEqual(quarantined)
  const six = { ...quarantined, lapsed: [1, 2, 3, 4, 5, 6] }
  expect(withoutLapse(six, 2)).toEqual({ ...six, lapsed: [1, 3, 4, 5, 6] })
  const held = lease({ lapsed: [1, 2] })
  expect(withoutLapse(held, 1)).toEqual({ ...held, lapsed: [2] })
})
