import { expect, test } from 'vitest'
import { sitesOfFile } from './candidate.ts'
import { hashOf } from './kept.ts'
import { probed } from './probes.ts'
import { type RecordedFile, TestMap } from './test-map.ts'

const file = 'src/a/double.ts'
const older = `export function double(n: number) {
  if (n < 0) return 0
  return 2 * n
}
`
const newer = older.replace('return 0', 'return -1')

/** A test file with a test that runs exactly these parts of the source. */
function recorded(name: string, ran: readonly string[], text = older): RecordedFile {
  const { probes } = probed(file, text)
  const bits = Buffer.alloc(4)
  for (const { number, start, end } of probes)
    if (ran.some((part) => text.slice(start, end).startsWith(part))) bits[number >> 3]! |= 1 << (number & 7)
  const hits = { [file]: bits.toString('base64') }
  return {
    file: `${name}.test.ts`,
    hash: '',
    sources: { [file]: hashOf(text) },
    tests: [{ name, ms: 1, isFailed: false, hits }],
  }
}

function testsOf(text: string, code: string, files: readonly RecordedFile[]): string[] {
  const core = new Map([[file, { file, text, hash: hashOf(text) }]])
  const map = new TestMap(files, core, new Map([[hashOf(older), older]]))
  const site = sitesOfFile(file, text).find(({ changes }) => changes[0]!.code === code)!
  return map.testsOf(site.changes[0]!).map(({ name }) => name)
}

const files = [recorded('below', ['if', 'return 0']), recorded('above', ['if', 'return 2'])]

test('a place is run by the tests that were recorded there', () => {
  expect(testsOf(older, 'return 2 * n', files)).toEqual(['above'])
  expect(testsOf(older, 'if (n < 0) return 0', files)).toEqual(['below', 'above'])
})

test('what has not changed in a source that has is still known', () => {
  expect(testsOf(newer, 'return 2 * n', files)).toEqual(['above'])
})

test('what is new in a source is taken as run by every test that runs anything of it', () => {
  const elsewhere = { ...recorded('elsewhere', []), sources: {} }
  expect(testsOf(newer, 'if (n < 0) return -1', [...files, elsewhere])).toEqual(['below', 'above'])
})

test('a test that failed when it was recorded is not asked', () => {
  const failing = recorded('failing', ['return 2'])
  const tests = failing.tests.map((one) => ({ ...one, isFailed: true }))
  expect(testsOf(older, 'return 2 * n', [...files, { ...failing, tests }])).toEqual(['above'])
})

test('a test is the closer to a place, the more it runs around it that few others do', () => {
  const core = new Map([[file, { file, text: older, hash: hashOf(older) }]])
  const both = [recorded('below', ['{', 'if', 'return 0']), recorded('above', ['{', 'if', 'return 2'])]
  const [site] = sitesOfFile(file, older)
  const closenessIn = (recordedFiles: readonly RecordedFile[]) => {
    const tests = new TestMap(recordedFiles, core, new Map()).testsOf(site!.changes[0]!)
    return Object.fromEntries(tests.map(({ name, closeness }) => [name, closeness]))
  }
  const alone = closenessIn(both)
  expect(alone['below']).toBe(alone['above'])
  const beside = closenessIn([...both, recorded('above too', ['{', 'if', 'return 2'])])
  expect(beside['below']).toBeGreaterThan(beside['above']!)
  expect(beside['above too']).toBe(beside['above'])
})

test('a place in a file of nothing but constants is run by the tests of those that import it', () => {
  const constants = { file: 'src/limits.ts', text: 'export const most = 5\n' }
  const importing = `import { most } from '../limits.ts'\n${older}`
  const core = new Map(
    [constants, { file, text: importing }, { file: 'src/other.ts', text: older }].map(({ file, text }) => [
      file,
      { file, text, hash: hashOf(text) },
    ]),
  )
  const elsewhere = { ...recorded('elsewhere', ['if']), sources: { 'src/other.ts': hashOf(older) } }
  const map = new TestMap([recorded('above', ['if'], importing), elsewhere], core, new Map())
  const [site] = sitesOfFile(constants.file, constants.text)
  expect(map.testsOf(site!.changes[0]!).map(({ name }) => name)).toEqual(['above'])
})
