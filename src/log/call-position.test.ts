import fc from 'fast-check'
import { expect, test } from 'vitest'
import { callPosition, copyCalls } from './fold-call.ts'

const called = (callId: string) => ({ callId })

/** Calls that count how often their ids are read. */
function counted(ids: readonly string[]) {
  const reads = { count: 0 }
  const calls = ids.map((id) => ({
    get callId() {
      reads.count += 1
      return id
    },
  }))
  return { calls, reads }
}

const many = (count: number) => Array.from({ length: count }, (_, index) => `call-${index}`)

test('looking for every call of a long list looks at each only a few times', () => {
  const ids = many(2_000)
  const { calls, reads } = counted(ids)
  expect(ids.map((id) => callPosition(calls, id))).toEqual(ids.map((_, index) => index))
  expect(reads.count).toBeLessThan(6 * ids.length)
})

test('copies that go on from a list know where its calls are', () => {
  const ids = many(2_000)
  const { calls, reads } = counted(ids)
  let list: { callId: string }[] = calls
  for (let round = 0; round < 500; round++) {
    list = copyCalls(list)
    list.push(called(`more-${round}`))
    expect(callPosition(list, `call-${round}`)).toBe(round)
    expect(callPosition(list, `more-${round}`)).toBe(ids.length + round)
    expect(callPosition(list, 'none')).toBe(-1)
  }
  expect(reads.count).toBeLessThan(10 * ids.length)
})

test('for lists of any length, copies that go on in any way, and any searches, it is what a search finds', () => {
  const id = fc.integer({ min: 0, max: 60 }).map(String)
  const numbers = (minLength: number, maxLength: number) => ({ minLength, maxLength, size: 'max' }) as const
  const step = fc.record({ list: fc.nat(), what: fc.constantFrom('copy', 'push', 'find', 'find'), id })
  fc.assert(
    fc.property(fc.uniqueArray(id, numbers(10, 30)), fc.array(step, numbers(0, 200)), (ids, steps) => {
      const lists = [ids.map(called)]
      for (const { list: nth, what, id: wanted } of steps) {
        const list = lists[nth % lists.length]!
        const place = list.findIndex(({ callId }) => callId === wanted)
        if (what === 'copy') lists.push(copyCalls(list))
        else if (what === 'find') expect(callPosition(list, wanted)).toBe(place)
        else if (place < 0) list.push(called(wanted))
      }
    }),
    { seed: 1, numRuns: 500 },
  )
})
