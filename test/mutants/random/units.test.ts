import { expect, test } from 'vitest'
import { unitsOf } from './units.ts'

test('tests beside the source come first, then those of its folder, then others in memory, on files, on a server, and long ones', () => {
  const tests = [
    { file: 'test/stories/turns.test.ts', name: 'a turn (postgres) ends', ms: 1, closeness: 1 },
    { file: 'test/stories/turns.test.ts', name: 'a turn (sqlite) ends', ms: 1, closeness: 1 },
    { file: 'test/stories/turns.test.ts', name: 'a turn (memory) ends', ms: 5, closeness: 1 },
    { file: 'test/stories/turns.test.ts', name: 'a turn (memory) begins', ms: 5, closeness: 1 },
    { file: 'test/view/long.test.ts', name: 'is long', ms: 60_000, closeness: 1 },
    { file: 'src/engine/turn/owner.test.ts', name: 'owns', ms: 900, closeness: 1 },
    { file: 'src/engine/turn/step.test.ts', name: 'steps', ms: 2000, closeness: 1 },
  ]
  const units = unitsOf(tests, 'src/engine/turn/step.ts')
  expect(units.map(({ file, names }) => [file, names.length])).toEqual([
    ['src/engine/turn/step.test.ts', 1],
    ['src/engine/turn/owner.test.ts', 1],
    ['test/stories/turns.test.ts', 2],
    ['test/stories/turns.test.ts', 1],
    ['test/stories/turns.test.ts', 1],
    ['test/view/long.test.ts', 1],
  ])
  expect(units[2]).toMatchObject({ ms: 10, longestMs: 5 })
})

test('of tests that are as near and cost as much, those come first that do more around the place', () => {
  const tests = [
    { file: 'test/stories/turns.test.ts', name: 'passes by', ms: 10, closeness: 0.5 },
    { file: 'test/stories/steps.test.ts', name: 'is all about it', ms: 10, closeness: 2 },
  ]
  expect(unitsOf(tests, 'src/engine/turn/step.ts').map(({ file }) => file)).toEqual([
    'test/stories/steps.test.ts',
    'test/stories/turns.test.ts',
  ])
})
