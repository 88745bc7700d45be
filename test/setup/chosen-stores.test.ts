import { matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import { chosenStores, isOn, leavingOut } from './chosen-stores.ts'

const tests = [
  { file: 'test/stories/approval.test.ts', name: 'an approval (memory) is given once' },
  { file: 'test/stories/approval.test.ts', name: 'an approval (sqlite) is given once' },
  { file: 'test/stories/approval.test.ts', name: 'an approval (postgres) is given once' },
  { file: 'test/faults/race.test.ts', name: 'of processes that end the same calls in a SQLite file, one wins' },
  { file: 'test/upkeep/command-line.test.ts', name: 'an export goes from SQLite to Postgres' },
  { file: 'src/store/postgres/hints.test.ts', name: 'another store hears of it' },
  { file: 'src/prompt/context-memory.test.ts', name: 'a memory goes on' },
  { file: 'test/tooling/documents.test.ts', name: 'the links of docs/api/perdure-sqlite.md lead somewhere' },
]

test.each([
  ['', [0, 1, 2, 3, 4, 5, 6, 7]],
  ['memory,sqlite,postgres', [0, 1, 2, 3, 4, 5, 6, 7]],
  ['sqlite', [1, 3, 6, 7]],
  ['memory, sqlite', [0, 1, 3, 6, 7]],
  ['postgres', [2, 5, 6, 7]],
])('STORES=%s runs the tests of these stores, and those that name none', (given, runs) => {
  const { testNamePattern, exclude } = leavingOut(chosenStores(given))
  const isRun = ({ file, name }: (typeof tests)[number]) =>
    (testNamePattern?.test(name) ?? true) && !exclude.some((pattern) => matchesGlob(file, pattern))
  expect(tests.flatMap((one, index) => (isRun(one) ? [index] : []))).toEqual(runs)
})

test('a store that there is not is refused', () => {
  expect(() => chosenStores('sqlite,mysql')).toThrow(
    "'mysql', which is no store. Name some of memory, sqlite, postgres.",
  )
})

test('a test is on the stores it names, or on the one it is beside', () => {
  const on = (index: number) =>
    (['memory', 'sqlite', 'postgres'] as const).filter((store) => isOn(tests[index]!, store))
  expect(tests.map((_, index) => on(index))).toEqual([
    ['memory'],
    ['sqlite'],
    ['postgres'],
    ['sqlite'],
    ['sqlite', 'postgres'],
    ['postgres'],
    [],
    [],
  ])
})
