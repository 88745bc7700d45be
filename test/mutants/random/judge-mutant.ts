import { readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { freshDatabase } from '../../setup/fresh-database.ts'
import type { Workspace } from '../workspace.ts'
import { type Candidate, planted } from './candidate.ts'
import { runTests } from './run-tests.ts'
import type { CoveringTest, TestMap } from './test-map.ts'

export type Verdict = {
  readonly result: 'killed' | 'took too long' | 'survived'
  /** What noticed it; of a survivor, how many tests ran. */
  readonly by: string
  readonly seconds: number
}

export type Result = Verdict & { readonly mutant: Candidate }

export type Judging = {
  readonly map: TestMap
  readonly postgresUrl: string
  /** How many seconds of tests a bug may live through, as long as they took without it. */
  readonly budgetSeconds: number
}

/** How many seconds of tests each run has, so that most bugs are found by few and quick ones. */
const stageSeconds = [2, 20, 120]

/** Plants a bug in a workspace, and runs the tests that go over that place, the nearest and quickest first, until one fails. */
export async function judgeMutant(workspace: Workspace, mutant: Candidate, judging: Judging): Promise<Verdict> {
  const startedAt = Date.now()
  const verdict = (result: Verdict['result'], by: string): Verdict => {
    return { result, by, seconds: Math.round((Date.now() - startedAt) / 1000) }
  }
  const path = join(workspace.root, mutant.file)
  const text = await readFile(path, 'utf8')
  await writeFile(path, planted(mutant, text))
  try {
    const { stages, isAll } = stagesOf(mutant, judging)
    for (const tests of stages) {
      const seconds = secondsOf(tests)
      const env = { PERDURE_MUTANTS_POSTGRES: await freshDatabase(judging.postgresUrl) }
      const run = {
        files: [...new Set(tests.map(({ file }) => file))],
        names: [...new Set(tests.map(({ name }) => name))],
        workers: 1,
        cache: join(workspace.root, '.vitest'),
      }
      const limitMs = (120 + 6 * seconds + 2 * run.files.length) * 1000
      const outcome = await runTests(workspace.root, run, { limitMs, env })
      if (outcome.result === 'failed') return verdict('killed', outcome.by)
      if (outcome.result === 'took too long') return verdict('took too long', `${tests.length} tests`)
    }
    const count = stages.flat().length
    return verdict('survived', count === 0 ? 'no test runs it' : `${isAll ? 'all' : 'the first'} ${count} tests`)
  } finally {
    await writeFile(path, text)
  }
}

function stagesOf(mutant: Candidate, { map, budgetSeconds }: Judging): { stages: CoveringTest[][]; isAll: boolean } {
  const tests = map.testsOf(mutant)
  const far = new Map(tests.map((test) => [test, distance(test, mutant.file)]))
  const queue = tests.toSorted((left, right) => far.get(left)! - far.get(right)! || left.ms - right.ms)
  const stages: CoveringTest[][] = []
  let left = budgetSeconds
  for (let stage = 0; queue.length > 0 && left > 0; stage++) {
    const seconds = Math.min(left, stageSeconds[stage] ?? budgetSeconds)
    const tests = takeFrom(queue, seconds)
    left -= secondsOf(tests)
    stages.push(tests)
  }
  return { stages, isAll: queue.length === 0 }
}

/** 0 for the tests of the same file, 1 of the same folder, 2 for others. */
function distance({ file }: CoveringTest, source: string): number {
  if (file === source.replace(/\.ts$/, '.test.ts')) return 0
  return dirname(file) === dirname(source) || basename(file).startsWith(basename(source, '.ts')) ? 1 : 2
}

function takeFrom(queue: CoveringTest[], seconds: number): CoveringTest[] {
  const taken: CoveringTest[] = []
  while (queue.length > 0 && (taken.length === 0 || secondsOf(taken) + queue[0]!.ms / 1000 <= seconds))
    taken.push(queue.shift()!)
  return taken
}

function secondsOf(tests: readonly CoveringTest[]): number {
  return tests.reduce((sum, { ms }) => sum + ms, 0) / 1000
}
