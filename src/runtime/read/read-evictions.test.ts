import { expect, test } from 'vitest'
import { readEvictions } from './explain-log.ts'

test('the evictions of a model call are copied, or are none', () => {
  const evictions = { seen: 3, evicted: [{ shown: 'summarised', why: 'old', toSeq: 2 }], prefix: null }
  expect(readEvictions({ evictions })).toEqual(evictions)
  expect(readEvictions({ evictions })).not.toBe(evictions)
  expect(readEvictions({ evictions: null })).toBe(null)
  expect(readEvictions({} as never)).toBe(null)
  expect(readEvictions({ evictions: {} })).toEqual({})
})

test('what has another shape is refused', () => {
  for (const evictions of [{ seen: '3' }, { evicted: {} }, { evicted: ['all'] }, { evicted: [null] }])
    expect(() => readEvictions({ evictions })).toThrow('pass one of modelCalls()')
})

test('what cannot be JSON is refused with its place', () => {
  const evictions = { seen: 1, evicted: [{ size: Number.NaN }] }
  expect(() => readEvictions({ evictions: evictions as never })).toThrow('evictions.evicted[0].size')
})
