import { join } from 'node:path'
import { startPostgres } from '../../setup/start-postgres.ts'
import { Workspace } from '../workspace.ts'
import { type Candidate, keyOf, sitesIn } from './candidate.ts'
import { firstCompiling } from './compiling.ts'
import { coreFiles } from './core-files.ts'
import { shuffled } from './draw.ts'
import { type Bench, type Judging, judgeMutant } from './judge-mutant.ts'
import { readJudgements } from './judgements.ts'
import { type HashedFile, hashOfAll, openKept, readHashed } from './kept.ts'
import { openLedger } from './ledger.ts'
import { testMap } from './record-map.ts'
import { report } from './report.ts'
import { testFiles } from './test-files.ts'
import { TestRunner } from './test-runner.ts'

export type RandomOptions = {
  readonly count: number
  readonly seed: number
  readonly jobs: number
  readonly budgetSeconds: number
  /** Whether what was found on other sources and tests counts, as far as the source and the tests in question are the same. */
  readonly keeps: boolean
  /** Whether what each test runs is recorded where that is not known. */
  readonly records: boolean
}

const tree = join(import.meta.dirname, '..', '..', '..')

/**
 * Draws random bugs in the core, plants each by itself, and says which of them no test notices. What is interrupted goes on where it was when it is
 * started again on the same sources and tests.
 */
export async function runRandom(options: RandomOptions): Promise<void> {
  const { count, seed, jobs, budgetSeconds, keeps, records } = options
  const core = await readHashed(tree, await coreFiles(tree))
  const tests = await readHashed(tree, await testFiles(tree))
  const judgements = await readJudgements()
  const isStopping = stopOnSignal()
  const map = await testMap({ tree, core, tests, workers: jobs, records, tell, isStopping })
  if (count === 0) return
  const ledger = await openLedger({ tree, core, tests, map, keeps })
  const isEquivalent = (mutant: Candidate) => judgements.get(keyOf(mutant))?.judgement === 'equivalent'
  const judging: Judging = { map, budgetSeconds, livesThrough: ledger.livesThrough }
  const benches: OwnBench[] = []
  try {
    for (let job = 0; job < jobs; job++) benches.push(await openBench())
    const { chosen, passedOver } = await draw(core, benches[0]!.workspace, count, seed)
    const queue = chosen.filter((mutant) => !isEquivalent(mutant) && !ledger.results.has(keyOf(mutant)))
    let done = chosen.length - queue.length
    await Promise.all(
      benches.map(async (bench) => {
        for (let mutant = queue.shift(); mutant && !isStopping(); mutant = queue.shift()) {
          const verdict = await judgeMutant(bench, mutant, judging)
          await ledger.add({ ...verdict, mutant })
          done += 1
          const by = verdict.by ? `${verdict.by.file}: ${verdict.by.test ?? verdict.note}` : verdict.note
          tell(`${done} of ${count}  ${verdict.result}, ${verdict.seconds} s  ${placeOf(mutant)}  ${by}`)
        }
      }),
    )
    if (done < chosen.length)
      throw new Error(`${chosen.length - done} bugs are left; started again, it goes on with them`)
    report({ seed, chosen, passedOver, results: ledger.results, judgements, failingWithout: map.failing })
  } finally {
    for (const bench of benches) await bench.close()
  }
}

type OwnBench = Bench & { readonly workspace: Workspace; close(): Promise<void> }

async function openBench(): Promise<OwnBench> {
  const workspace = await Workspace.copyOf(tree)
  // Nothing in it has to outlive a crash.
  const server = await startPostgres({ settings: { fsync: 'off' } })
  const runner = new TestRunner({ root: workspace.root, records: false }, server.url)
  return {
    workspace,
    runner,
    async close() {
      runner.close()
      await workspace.remove()
      await server.destroy()
    },
  }
}

type Drawn = { readonly chosen: readonly Candidate[]; readonly passedOver: number }

async function draw(
  core: ReadonlyMap<string, HashedFile>,
  workspace: Workspace,
  count: number,
  seed: number,
): Promise<Drawn> {
  const kept = await openKept(tree, `drawn-${seed}-${count}-${hashOfAll(core)}`)
  if (kept.lines[0]) return JSON.parse(kept.lines[0]) as Drawn
  tell(`drawing ${count} bugs that compile`)
  const drawn = await firstCompiling(workspace, shuffled(await sitesIn(tree, [...core.keys()]), seed), count)
  await kept.add(JSON.stringify(drawn))
  return drawn
}

/** The first signal lets what is under way end; a second one ends the program. */
function stopOnSignal(): () => boolean {
  let isStopping = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      isStopping = true
      tell('stopping after what is under way')
    })
  return () => isStopping
}

function placeOf({ file, line, operator }: Candidate): string {
  return `${file}:${line} ${operator}`
}

function tell(line: string): void {
  console.error(`${new Date().toTimeString().slice(0, 8)}  ${line}`)
}
