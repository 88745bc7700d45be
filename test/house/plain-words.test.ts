import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readTexts, vagueWordsIn } from './plain-words.ts'

/** Lower it whenever the count falls; the target is in `figures.ts`. */
const most = 50

test('sources, guides and README name the thing instead of saying "whoever", "nobody", "somebody" or "is to be"', () => {
  const found = readTexts(join(import.meta.dirname, '..', '..')).flatMap(vagueWordsIn)
  const places = found.map(({ path, line, word }) => `${path}:${line} ${word}`)
  expect(places.length, `at most ${most} are left:\n${places.join('\n')}`).toBeLessThanOrEqual(most)
})
