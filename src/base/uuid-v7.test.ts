import { expect, test, vi } from 'vitest'
import { uuidV7 } from './uuid-v7.ts'

/** Far in the future, because ids never go back behind one that was given out before. */
const later = 0x7fff_0000_0000

test('it has the form of a version 7 UUID', () => {
  for (let round = 0; round < 1_000; round++) {
    expect(uuidV7()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
})

test('it begins with the time in milliseconds', () => {
  expect(uuidV7(later).replaceAll('-', '').slice(0, 12)).toBe('7fff00000000')
})

test('many of one millisecond differ and sort in the order they were made', () => {
  const ids = Array.from({ length: 10_000 }, () => uuidV7(later + 1))
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.join()).toBe(ids.toSorted().join())
})

test('a clock that goes back does not bring the order into disorder', () => {
  const first = uuidV7(later + 100_000)
  expect(uuidV7(later + 50_000) > first).toBe(true)
})

test('a clock that begins at 0 gives whole ids from the first on', async () => {
  vi.resetModules()
  const { uuidV7: first } = await import('./uuid-v7.ts')
  expect(first(0)).toMatch(/^00000000-0000-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('what is random in it is drawn for each id, also after many', () => {
  const tails = Array.from({ length: 2_000 }, () => uuidV7(later + 200_000).slice(20))
  expect(new Set(tails).size).toBe(tails.length)
})
