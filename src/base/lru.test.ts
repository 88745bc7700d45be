import { expect, test } from 'vitest'
import { Lru } from './lru.ts'

const words = (limits: { entries?: number; bytes?: number }) =>
  new Lru<string>({ entries: 10, bytes: 100, ...limits, weigh: (word) => word.length })

test('what was set last stays, up to a number of entries', () => {
  const kept = words({ entries: 2 })
  for (const key of ['a', 'b', 'c']) kept.set(key, key)
  expect([kept.get('a'), kept.get('b'), kept.get('c')]).toEqual([undefined, 'b', 'c'])
})

test('up to a number of bytes, but always the newest', () => {
  const kept = words({ bytes: 10 })
  kept.set('a', 'xxxxx')
  kept.set('b', 'xxxxx')
  expect(kept.bytes).toBe(10)
  kept.set('c', 'x')
  expect([kept.get('a'), kept.get('b'), kept.get('c'), kept.bytes]).toEqual([undefined, 'xxxxx', 'x', 6])
  kept.set('d', 'x'.repeat(50))
  expect([kept.get('c'), kept.get('d'), kept.bytes]).toEqual([undefined, 'x'.repeat(50), 50])
})

test('what is set again counts once, and what is deleted not at all', () => {
  const kept = words({})
  kept.set('a', 'xxx')
  kept.set('a', 'x')
  kept.delete('nothing')
  expect(kept.bytes).toBe(1)
  kept.delete('a')
  expect(kept.bytes).toBe(0)
})

test('without weights only their number counts, and what is set again is the newest', () => {
  const kept = new Lru<number>({ entries: 2 })
  kept.set('a', 1)
  kept.set('b', 2)
  kept.get('a')
  kept.set('b', 3)
  kept.set('a', 4)
  kept.set('c', 5)
  expect([kept.values(), kept.get('b')]).toEqual([[4, 5], undefined])
})
