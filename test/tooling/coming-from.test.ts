import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesOf, namedRows, rowsNotShown } from '../contract/named-tests.ts'
import { contractNames } from '../contract/names.ts'
import { TestTitles, testSources } from '../contract/test-titles.ts'

const root = join(import.meta.dirname, '..', '..')
const rows = namedRows()

test('each name of the contract has a row in docs/coming-from.md, and each row is of a name', () => {
  const listed = Object.entries(contractNames).flatMap(([document, names]) =>
    names.map((name) => `${document}: ${name}`),
  )
  expect(rows.map(({ document, name }) => `${document}: ${name}`).toSorted()).toEqual(listed.toSorted())
})

test('each row names a test that exists', () => {
  const conformance = testSources().filter((file) => file.startsWith('src/testing/conformance/'))
  const titles = new Map<string, TestTitles>()
  const titlesOf = (file: string): TestTitles => {
    const sources = /^src\/store\/\w+\/\w+-store\.test\.ts$/.test(file) ? [file, ...conformance] : [file]
    return titles.get(file) ?? titles.set(file, new TestTitles(sources)).get(file)!
  }
  const missing = rows.filter((row) =>
    filesOf(row).some((file) => row.title === '' || !existsSync(join(root, file)) || !titlesOf(file).has(row.title)),
  )
  expect(missing.map(({ name, file, title }) => `${name} | ${file} | ${title}`)).toEqual([])
})

test('nothing in the tables is put off', () => {
  expect(rows.length).toBeGreaterThan(150)
  expect(rows.filter(({ title }) => /not yet|todo|later version/i.test(title))).toEqual([])
})

test('a test that did not run, was skipped or failed is reported with its row', () => {
  const row = { document: 'D', name: 'append_event/2', file: 'test/a.test.ts', title: 'it appends' }
  const told = (state: string) => rowsNotShown([row], [{ file: row.file, title: row.title, state }])
  expect(told('passed')).toEqual([])
  for (const state of ['skipped', 'failed', 'pending'])
    expect(told(state)).toEqual(['append_event/2: test/a.test.ts: it appends'])
  expect(rowsNotShown([row], [])).toEqual(['append_event/2: test/a.test.ts: it appends'])
  const everywhere = { ...row, file: 'conformance' }
  const ran = filesOf(everywhere).map((file) => ({ file, title: row.title, state: 'passed' }))
  expect([rowsNotShown([everywhere], ran), rowsNotShown([everywhere], ran.slice(1)).length]).toEqual([[], 1])
})
