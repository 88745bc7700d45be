import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TestTitles, testSources } from '../contract/test-titles.ts'
import { mutants } from '../mutants/mutants.ts'

const root = join(import.meta.dirname, '..', '..')

test('each planted bug still has its one place in the source, and its tests are where it says', () => {
  const astray = mutants.flatMap(({ name, edits, killedBy }) => [
    ...edits.filter(({ file, find }) => read(file).split(find).length !== 2).map(({ file }) => `${name}: ${file}`),
    ...killedBy.filter(({ file }) => read(file) === '').map(({ file }) => `${name}: ${file}`),
  ])
  expect(astray).toEqual([])
})

test('each test that a planted bug names has its title somewhere in the tests', { timeout: 120_000 }, () => {
  const titles = new TestTitles(testSources())
  // A name may begin with those of the suites around it.
  const named = new Set(
    mutants.flatMap(({ killedBy }) => killedBy.flatMap(({ test: name }) => name?.split(' > ').at(-1) ?? [])),
  )
  expect([...named].filter((title) => !titles.has(title))).toEqual([])
})

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
