import { expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import type { ClaimedDue, DueClaim } from '../../store/claim-due.ts'
import type { ClaimOptions, ClaimOutcome } from '../../store/lease.ts'
import type { Store } from '../../store/store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { Claims, type TakenDue } from './claims.ts'
import { type HeldLease, HeldLease as Lease, type LeaseKeeper } from './lease-keeper.ts'

const ref = (id: string) => ({ tenant: 'default', id })

/** Claims on a store that knows how many lapses each conversation has. */
function claiming(lapses: Record<string, number>) {
  const clock = fakeClock()
  const asked: string[] = []
  const errors: string[] = []
  const counts = { strays: 0, freed: 0 }
  let epoch = 0
  const claimLease = async (id: string, _: string, __: number, { suspects }: ClaimOptions): Promise<ClaimOutcome> => {
    asked.push(`${id} ${suspects ? 'with' : 'without'} lapses`)
    const found = lapses[id]
    if (found === undefined) throw new Error('away')
    if (found > 0 && !suspects) return { type: 'suspect' }
    if (found >= 5) return { type: 'quarantined' }
    epoch += 1
    return { type: 'taken', epoch, lapses: found }
  }
  const claimDue = async ({ limit, suspects = 0 }: DueClaim): Promise<ClaimedDue[]> => {
    if (lapses['away']) throw new Error('away')
    let places = suspects
    return Object.entries(lapses)
      .flatMap(([id, found]): ClaimedDue[] => {
        if (found > 0 && places-- <= 0) return []
        if (found >= 5) return [{ type: 'quarantined', ...ref(id) }]
        epoch += 1
        return [{ type: 'taken', ...ref(id), epoch, lapses: found, agent: 'a', lastSeq: 1, problem: null, fork: null }]
      })
      .slice(0, limit)
  }
  const store = { forTenant: () => ({ claimLease }), claimDue } as unknown as Store
  const holding: LeaseKeeper['holding'] = (held, given, askedAt): HeldLease =>
    new Lease(held, given, askedAt, { clock, leaseMs: 1_000, renew: async () => {}, onLost: () => {} })
  const leases = { holding, lookForStrays: () => void (counts.strays += 1) } as unknown as LeaseKeeper
  const logger = { ...silentLogger, error: (message: string) => void errors.push(message) }
  const node = { store, holder: 'one', leaseMs: 1_000, clock, logger, turnLimits: null }
  const claims = new Claims(node, leases, () => void (counts.freed += 1))
  return { claims, asked, errors, counts, lapses, clock }
}

test('what has no lapses is taken by one claim, however many are held', async () => {
  const { claims, asked } = claiming({ a: 0, b: 0 })
  expect((await claims.take(ref('a'), 'a'))?.epoch).toBe(1)
  expect((await claims.take(ref('b'), 'a'))?.epoch).toBe(2)
  expect(asked).toEqual(['a without lapses', 'b without lapses'])
  expect(claims.hasPlaceForSuspect).toBe(true)
})

test('of what has lapses one is held at a time, and the next when it is let go', async () => {
  const { claims, counts } = claiming({ a: 1, b: 2, innocent: 0 })
  const [first, second] = await Promise.all([claims.take(ref('a'), 'a'), claims.take(ref('b'), 'a')])
  expect([first === null, second === null]).toEqual([false, true])
  expect(claims.hasPlaceForSuspect).toBe(false)
  expect(await claims.take(ref('innocent'), 'a')).not.toBe(null)
  claims.leave(ref('innocent'))
  claims.leave(ref('b'))
  expect(counts.freed).toBe(0)
  claims.leave(ref('a'))
  expect(counts.freed).toBe(1)
  expect(await claims.take(ref('b'), 'a')).not.toBe(null)
})

test('one with lapses that is held for 5 minutes makes place for the next: should the process end now, it is no lapse', async () => {
  const { claims, counts, clock } = claiming({ a: 1, b: 2, c: 1 })
  await claims.take(ref('a'), 'a')
  await clock.advance(5 * 60_000 - 1)
  expect([claims.hasPlaceForSuspect, await claims.take(ref('b'), 'a')]).toEqual([false, null])
  await clock.advance(1)
  expect([claims.hasPlaceForSuspect, counts.freed]).toEqual([true, 1])
  expect(await claims.take(ref('b'), 'a')).not.toBe(null)
  // The one before is let go, and has no place to leave any more.
  claims.leave(ref('a'))
  expect([claims.hasPlaceForSuspect, counts.freed]).toEqual([false, 1])
  claims.leave(ref('b'))
  await clock.advance(60_000)
  expect(await claims.take(ref('c'), 'a')).not.toBe(null)
  await clock.advance(5 * 60_000 - 1)
  expect(claims.hasPlaceForSuspect).toBe(false)
})

test('what has no lapses any more when it is claimed takes no place', async () => {
  const { claims, lapses, asked } = claiming({ a: 1 })
  const taking = claims.take(ref('a'), 'a')
  // The process that had it lives, and has taken its lapse back.
  while (asked.length === 0) await Promise.resolve()
  lapses['a'] = 0
  expect(await taking).not.toBe(null)
  expect(claims.hasPlaceForSuspect).toBe(true)
})

test('what is quarantined by the claim is told of, and takes no place', async () => {
  const { claims, errors } = claiming({ poison: 5 })
  expect(await claims.take(ref('poison'), 'a')).toBe(null)
  expect(errors).toEqual(['a conversation was quarantined: the last processes that worked on it ended while doing so'])
  expect(claims.hasPlaceForSuspect).toBe(true)
})

test('a claim that fails takes no place, and what it may have left behind is looked for', async () => {
  const { claims, counts, lapses } = claiming({ a: 1 })
  const taking = claims.take(ref('a'), 'a')
  delete lapses['a']
  await expect(taking).rejects.toThrow('away')
  await expect(claims.take(ref('unknown'), 'a')).rejects.toThrow('away')
  expect(counts).toEqual({ strays: 2, freed: 0 })
  expect(claims.hasPlaceForSuspect).toBe(true)
})

const request = { agents: ['a'], limit: 9, except: [] }
const ids = (taken: readonly TakenDue[]) => taken.map(({ id }) => id)

test('of many that are claimed at once one has lapses, and keeps the place until it is left', async () => {
  const { claims, counts } = claiming({ a: 1, b: 2, c: 0 })
  expect(ids(await claims.takeDue(request))).toEqual(['a', 'c'])
  expect(claims.hasPlaceForSuspect).toBe(false)
  expect(ids(await claims.takeDue(request))).toEqual(['c'])
  expect(await claims.take(ref('b'), 'a')).toBe(null)
  claims.leave(ref('a'))
  expect([claims.hasPlaceForSuspect, counts.freed]).toEqual([true, 1])
})

test('while many are claimed the place is kept for the one that may come, and is free again when none did', async () => {
  const { claims, counts, lapses } = claiming({ c: 0, b: 2 })
  const claimed = claims.takeDue({ ...request, only: [ref('c')] })
  expect(claims.hasPlaceForSuspect).toBe(true)
  await claimed
  delete lapses['b']
  const batch = claims.takeDue(request)
  expect(claims.hasPlaceForSuspect).toBe(false)
  lapses['b'] = 2
  await batch
  expect([claims.hasPlaceForSuspect, counts.freed]).toEqual([true, 0])
})

test('a claim of many that fails takes no place, and what it took is looked for', async () => {
  const { claims, counts } = claiming({ away: 1 })
  await expect(claims.takeDue(request)).rejects.toThrow('away')
  expect([claims.hasPlaceForSuspect, counts.strays, counts.freed]).toEqual([true, 1, 0])
})

test('what a claim of many quarantines is told of, and the others are taken', async () => {
  const { claims, errors } = claiming({ poison: 5, c: 0 })
  expect(ids(await claims.takeDue(request))).toEqual(['c'])
  expect(errors).toEqual(['a conversation was quarantined: the last processes that worked on it ended while doing so'])
  expect(claims.hasPlaceForSuspect).toBe(true)
})
