import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mostVagueWords, readTexts, vagueWordsIn } from './plain-words.ts'

test('sources, guides and README name the thing instead of saying "whoever", "nobody", "somebody" or "is to be"', () => {
  const found = readTexts(join(import.meta.dirname, '..', '..')).flatMap(vagueWordsIn)
  const places = found.map(({ path, line, word }) => `${path}:${line} ${word}`)
  expect(places.length, `at most ${mostVagueWords} are allowed:\n${places.join('\n')}`).toBeLessThanOrEqual(
    mostVagueWords,
  )
})
