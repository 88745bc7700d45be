import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Candidate } from './candidate.ts'
import { judgeMutant } from './judge-mutant.ts'
import type { CoveringTest } from './test-map.ts'
import type { TestOutcome, TestUnit } from './test-runner.ts'

const text = 'export const answer = 42\n'
const mutant: Candidate = {
  file: 'answer.ts',
  line: 1,
  operator: 'another number',
  code: text.trim(),
  change: '42 → 43',
  nth: 0,
  start: text.indexOf('42'),
  end: text.indexOf('42') + 2,
  replacement: '43',
}
const covering: CoveringTest[] = [
  { file: 'far/one.test.ts', name: 'one', ms: 10, closeness: 1 },
  { file: 'answer.test.ts', name: 'two', ms: 500, closeness: 1 },
]
const passed: TestOutcome = { result: 'passed', test: null, ran: 1, why: '', ms: 10 }
const failed: TestOutcome = { ...passed, result: 'failed', test: 'two', ran: 0 }
const died: TestOutcome = { ...passed, result: 'died', ran: 0 }
const late: TestOutcome = { ...passed, result: 'took too long', ran: 0 }

let root = ''

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdure-judged-'))
  await writeFile(join(root, mutant.file), text)
})

afterEach(() => rm(root, { recursive: true }))

/** What the tests do, from the nearest file on, is said by `outcome`. */
async function judged(
  outcome: (unit: TestUnit, isPlanted: boolean, nth: number) => TestOutcome,
  tests: CoveringTest[] = covering,
) {
  const runs: string[] = []
  const runner = {
    changed: () => {},
    async run(unit: TestUnit): Promise<TestOutcome> {
      const isPlanted = (await readFile(join(root, mutant.file), 'utf8')) !== text
      runs.push(`${unit.file} ${isPlanted ? 'with' : 'without'}`)
      return outcome(unit, isPlanted, runs.length)
    },
  }
  const judging = { map: { testsOf: () => tests }, budgetSeconds: 60, livesThrough: () => false }
  const verdict = await judgeMutant({ workspace: { root }, runner }, mutant, judging)
  expect(await readFile(join(root, mutant.file), 'utf8')).toBe(text)
  return { ...verdict, runs }
}

test('a bug is killed by a test that fails twice with it and passes without it', async () => {
  const { result, by, runs } = await judged((_, isPlanted) => (isPlanted ? failed : passed))
  expect(result).toBe('killed')
  expect(by).toEqual({ file: 'answer.test.ts', test: 'two' })
  expect(runs).toEqual(['answer.test.ts with', 'answer.test.ts with', 'answer.test.ts without'])
})

test('a quick test beside the sources that fails by a comparison is asked once with the bug', async () => {
  const near = { ...covering[1]!, file: 'src/answer.test.ts' }
  const plain = { ...failed, isAssertion: true }
  const { result, runs } = await judged((_, isPlanted) => (isPlanted ? plain : passed), [near])
  expect([result, runs]).toEqual(['killed', ['src/answer.test.ts with', 'src/answer.test.ts without']])
  for (const other of [
    { ...near, ms: 1_000 },
    { ...near, file: 'src/store/answer.test.ts' },
    { ...near, file: 'test/stories/answer.test.ts' },
  ]) {
    expect((await judged((_, isPlanted) => (isPlanted ? plain : passed), [other])).runs).toHaveLength(3)
  }
  expect((await judged((_, isPlanted) => (isPlanted ? failed : passed), [near])).runs).toHaveLength(3)
})

test('a failure that does not come again kills nothing', async () => {
  const { result, runs } = await judged((_unit, _isPlanted, nth) => (nth === 1 ? failed : passed))
  expect(result).toBe('survived')
  expect(runs.at(-1)).toBe('far/one.test.ts with')
})

test('a test that fails without the bug as well leaves it unclear, unless another finds it', async () => {
  const isNear = ({ file }: TestUnit) => file === 'answer.test.ts'
  expect(await judged((unit) => (isNear(unit) ? failed : passed))).toMatchObject({ result: 'unclear', by: null })
  const found = await judged((unit, isPlanted) => (isNear(unit) || isPlanted ? failed : passed))
  expect(found).toMatchObject({ result: 'killed', by: { file: 'far/one.test.ts' } })
})

test('a run that dies kills when it dies again and lives without the bug', async () => {
  expect(await judged((_, isPlanted) => (isPlanted ? died : passed))).toMatchObject({ result: 'killed' })
  expect(await judged((_unit, _isPlanted, nth) => (nth === 1 ? died : passed))).toMatchObject({ result: 'survived' })
  expect(await judged(() => died)).toMatchObject({ result: 'unclear' })
})

test('a run that takes too long kills only when the same tests end well within the time without the bug', async () => {
  expect(await judged((_, isPlanted) => (isPlanted ? late : passed))).toMatchObject({ result: 'took too long' })
  const slow = { ...passed, ms: 30_000 }
  expect(await judged((_, isPlanted) => (isPlanted ? late : slow))).toMatchObject({ result: 'unclear' })
})

test('tests that were not run without the bug prove nothing', async () => {
  const none = { ...passed, ran: 0 }
  expect(await judged((_, isPlanted) => (isPlanted ? failed : none))).toMatchObject({ result: 'unclear' })
})
