import { expect, test } from 'vitest'
import { sitesOfFile } from './candidate.ts'
import { shuffled } from './draw.ts'

const sites = sitesOfFile('src/a/file.ts', Array.from({ length: 20 }, (_, n) => `g(a${n} < b)`).join('\n'))

test('the same seed draws the same bugs in the same order, another one others', () => {
  expect(shuffled(sites, 7)).toEqual(shuffled(sites, 7))
  expect(shuffled(sites, 8)).not.toEqual(shuffled(sites, 7))
})

test('each place is drawn once, with one of its changes', () => {
  const drawn = shuffled(sites, 7)
  expect(drawn).toHaveLength(sites.length)
  const all = new Set(sites.flatMap(({ changes }) => changes))
  expect(drawn.every((candidate) => all.has(candidate))).toBe(true)
  expect(new Set(drawn.map(({ start, end }) => `${start} ${end}`)).size).toBe(sites.length)
})
