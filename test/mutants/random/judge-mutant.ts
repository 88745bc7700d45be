import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Workspace } from '../workspace.ts'
import { type Candidate, planted } from './candidate.ts'
import type { TestMap } from './test-map.ts'
import type { TestLimits, TestOutcome, TestRunner } from './test-runner.ts'
import { loadMs, type Unit, unitsOf } from './units.ts'

export type Verdict = {
  /** `unclear`: no test found it, and some that failed or did not end do so without it as well. */
  readonly result: 'killed' | 'took too long' | 'survived' | 'unclear'
  /** What noticed it. Null for a survivor. */
  readonly by: { readonly file: string; readonly test: string | null } | null
  readonly note: string
  /** Whether every test that goes over the place has run, as far as none found it. */
  readonly isWhole: boolean
  readonly seconds: number
}

export type Bench = {
  readonly workspace: Pick<Workspace, 'root'>
  readonly runner: Pick<TestRunner, 'run' | 'changed'>
}

export type Judging = {
  readonly map: Pick<TestMap, 'testsOf'>
  /** How many seconds of tests a bug may live through, as long as they took without it. */
  readonly budgetSeconds: number
  /** Test files that this bug is known to live through. */
  readonly livesThrough: (mutant: Candidate, file: string) => boolean
}

/**
 * Plants a bug in a workspace, and runs the tests that go over that place until one finds it: it fails twice with the bug, and not without it. So
 * a busy machine, a test that is broken anyway or a database that has gone away finds nothing. A quick test beside the sources that fails by a
 * comparison waits for nothing, and is taken at its word the first time.
 */
export async function judgeMutant({ workspace, runner }: Bench, mutant: Candidate, judging: Judging): Promise<Verdict> {
  const startedAt = Date.now()
  const path = join(workspace.root, mutant.file)
  const text = await readFile(path, 'utf8')
  const set = async (content: string): Promise<void> => {
    await writeFile(path, content)
    runner.changed(mutant.file)
  }
  const { units, isAll } = within(judging, mutant)
  const verdict = (result: Verdict['result'], by: Verdict['by'], note: string): Verdict => {
    return { result, by, note, isWhole: isAll, seconds: Math.round((Date.now() - startedAt) / 1000) }
  }
  const unclear: string[] = []
  try {
    await set(planted(mutant, text))
    for (const unit of units) {
      const first = await runner.run(unit, limitsOf(unit))
      if (first.result === 'passed') continue
      const suspect = first.test === null ? unit : { ...unit, names: [first.test] }
      const isLate = first.result === 'took too long'
      const second = isLate || isPlain(first, unit) ? first : await runner.run(suspect, limitsOf(unit))
      if (second.result === 'passed') continue
      await set(text)
      const without = await runner.run(suspect, limitsOf(unit))
      await set(planted(mutant, text))
      const by = { file: unit.file, test: first.test }
      if (isSound(without, limitsOf(unit))) return verdict(isLate ? 'took too long' : 'killed', by, first.why)
      unclear.push(`${unit.file}: ${first.test ?? `${first.result}, ${first.why}`}`)
    }
  } finally {
    await set(text)
  }
  const count = units.reduce((sum, { names }) => sum + names.length, 0)
  if (unclear.length > 0) return verdict('unclear', null, `fails without it, too: ${unclear.join('; ')}`)
  return verdict('survived', null, count === 0 ? 'no test runs it' : `${isAll ? 'all' : 'the first'} ${count} tests`)
}

/** Nothing that it waits for can have made it fail. */
function isPlain({ isAssertion = false }: TestOutcome, { file, longestMs }: Unit): boolean {
  return isAssertion && longestMs < 1_000 && file.startsWith('src/') && !file.startsWith('src/store/')
}

/** Well within the time, so that what takes too long does so because of the bug. */
function isSound({ result, ran, ms }: TestOutcome, { unitMs }: TestLimits): boolean {
  return result === 'passed' && ran > 0 && ms < unitMs / 4
}

function limitsOf({ ms, longestMs }: Unit): TestLimits {
  const testMs = 8_000 + 6 * longestMs
  return { testMs, unitMs: 30_000 + 4 * ms + testMs }
}

function within({ map, budgetSeconds, livesThrough }: Judging, mutant: Candidate): { units: Unit[]; isAll: boolean } {
  const all = unitsOf(map.testsOf(mutant), mutant.file)
  let left = budgetSeconds * 1000
  const units: Unit[] = []
  for (const unit of all) {
    if (left <= 0) break
    left -= unit.ms + loadMs
    if (!livesThrough(mutant, unit.file)) units.push(unit)
  }
  return { units, isAll: left > 0 }
}
