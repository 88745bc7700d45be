import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BorrowRequest } from './accounts.ts'
import { type AccountBudget, borrow, longestPauseMs, paused } from './budget.ts'

const minute = 60_000
const at = 100 * minute
const one = { requests: 1, tokens: 100 }

const request = (more: Partial<BorrowRequest> = {}): BorrowRequest => ({
  ...{ account: 'a', limits: { requests: 10, tokens: 1_000 }, need: one, want: one, returned: null },
  ...more,
})

/** Borrows until the minute is used up. */
function usedUp(now: number): AccountBudget {
  return borrow(null, request({ want: { requests: 10, tokens: 1_000 } }), now).budget
}

describe('a budget', () => {
  test('grants what is wanted while there is so much, and never less than what is needed', () => {
    const first = borrow(null, request({ want: { requests: 8, tokens: 200 } }), at + 6_000)
    expect(first.outcome).toEqual({ type: 'granted', requests: 8, tokens: 200, minute: at, forMs: 54_000 })
    const second = borrow(first.budget, request({ want: { requests: 8, tokens: 200 } }), at + 6_001)
    expect(second.outcome).toMatchObject({ requests: 2, tokens: 200 })
    expect(borrow(second.budget, request(), at + 6_002).outcome.type).toBe('wait')
  })

  test('counts the minute before by its share of the last 60 seconds, and says when there is enough', () => {
    const used = usedUp(at + 30_000)
    expect(borrow(used, request(), at + 30_000).outcome).toEqual({ type: 'wait', waitMs: 36_000 })
    expect(borrow(used, request(), at + 65_999).outcome).toEqual({ type: 'wait', waitMs: 1 })
    expect(borrow(used, request(), at + 66_000).outcome.type).toBe('granted')
    expect(borrow(used, request({ want: { requests: 10, tokens: 1_000 } }), at + 2 * minute).outcome).toMatchObject({
      requests: 10,
      tokens: 1_000,
    })
  })

  test('a need above the limit is a need of all of it', () => {
    const much = request({ need: { requests: 1, tokens: 5_000 }, want: { requests: 1, tokens: 5_000 } })
    expect(borrow(null, much, at).outcome).toMatchObject({ type: 'granted', tokens: 1_000 })
    expect(borrow(null, request({ limits: { requests: null, tokens: null } }), at).outcome).toMatchObject(one)
  })

  test('a pause holds until it is over, is never shortened, and is at most ten minutes', () => {
    const budget = paused(paused(null, 5_000, at), 1_000, at)
    expect(borrow(budget, request(), at + 1_000).outcome).toEqual({ type: 'wait', waitMs: 4_000 })
    expect(borrow(budget, request(), at + 5_000).outcome.type).toBe('granted')
    expect(paused(null, 10 * longestPauseMs, at).pausedUntil).toBe(at + longestPauseMs)
    // The clock was put back by a day.
    const later = paused(null, 5_000, at + 1_440 * minute)
    const refused = borrow(later, request(), at)
    expect(refused.outcome).toEqual({ type: 'wait', waitMs: longestPauseMs })
    expect(borrow(refused.budget, request(), at + 4 * minute).outcome).toEqual({ type: 'wait', waitMs: 6 * minute })
    expect(borrow(refused.budget, request(), at + longestPauseMs).outcome.type).toBe('granted')
  })

  test('where the clock is put back, what was spent counts for this minute and the next, and no longer', () => {
    const used = usedUp(at + 1_440 * minute)
    const refused = borrow(used, request(), at)
    expect(refused.outcome).toEqual({ type: 'wait', waitMs: 66_000 })
    expect(borrow(refused.budget, request(), at + 66_000).outcome.type).toBe('granted')
  })

  test('what is returned goes to the minute it came from, and of older ones nowhere', () => {
    const used = usedUp(at)
    const back = { requests: 9, tokens: 900, minute: at }
    expect(borrow(used, request({ returned: back }), at + 1).outcome.type).toBe('granted')
    expect(borrow(used, request({ returned: back }), at + minute).outcome.type).toBe('granted')
    expect(borrow(used, request(), at + minute).outcome.type).toBe('wait')
    const old = { requests: 9, tokens: 900, minute: at - minute }
    expect(borrow(usedUp(at + minute), request({ returned: old }), at + minute).outcome.type).toBe('wait')
  })

  test('after the wait that it names, what is needed is granted, and no minute grants more than the limit', () => {
    const step = fc.record({ passMs: fc.nat(90_000), requests: fc.integer({ min: 1, max: 12 }), tokens: fc.nat(1_200) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let budget: AccountBudget | null = null
        let now = at
        const granted = new Map<number, number>()
        for (const { passMs, requests, tokens } of steps) {
          now += passMs
          const asked = request({ need: { requests, tokens }, want: { requests, tokens } })
          let decided = borrow(budget, asked, now)
          if (decided.outcome.type === 'wait') {
            now += decided.outcome.waitMs + 1
            decided = borrow(decided.budget, asked, now)
          }
          expect(decided.outcome.type).toBe('granted')
          budget = decided.budget
          const given = decided.outcome.type === 'granted' ? decided.outcome : { minute: 0, requests: 0 }
          granted.set(given.minute, (granted.get(given.minute) ?? 0) + given.requests)
        }
        for (const count of granted.values()) expect(count).toBeLessThanOrEqual(10)
      }),
      { numRuns: 200 },
    )
  })
})
