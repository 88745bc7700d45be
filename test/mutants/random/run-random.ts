import { join } from 'node:path'
import { startPostgres } from '../../setup/start-postgres.ts'
import { Workspace } from '../workspace.ts'
import { type Candidate, keyOf, sitesIn } from './candidate.ts'
import { firstCompiling } from './compiling.ts'
import { coreFiles } from './core-files.ts'
import { shuffled } from './draw.ts'
import { type Judging, judgeMutant, type Result } from './judge-mutant.ts'
import { readJudgements } from './judgements.ts'
import { hashOf, openKept } from './kept.ts'
import { report } from './report.ts'
import { testFiles, testMap } from './test-map.ts'

export type RandomOptions = {
  readonly count: number
  readonly seed: number
  readonly jobs: number
  readonly budgetSeconds: number
  /** Whether what was killed on earlier sources or by earlier tests is taken as killed. */
  readonly keepsKilled: boolean
}

const tree = join(import.meta.dirname, '..', '..', '..')

/**
 * Draws random bugs in the core, plants each by itself, and says which of them no test notices. What is interrupted goes on where it was when it is
 * started again on the same sources and tests.
 */
export async function runRandom({ count, seed, jobs, budgetSeconds, keepsKilled }: RandomOptions): Promise<void> {
  const core = await coreFiles(tree)
  const judgements = await readJudgements()
  const isStopping = stopOnSignal()
  const server = await startPostgres()
  const workspaces: Workspace[] = []
  try {
    for (let job = 0; job < jobs; job++) workspaces.push(await Workspace.copyOf(tree))
    const map = await testMap({ tree, core, workers: jobs, postgresUrl: server.url, tell, isStopping })
    const { chosen, passedOver } = await draw(core, workspaces[0]!, count, seed)
    const ledger = await openLedger(core, seed, keepsKilled)
    const isEquivalent = (mutant: Candidate) => judgements.get(keyOf(mutant))?.judgement === 'equivalent'
    const queue = chosen.filter((mutant) => !isEquivalent(mutant) && !ledger.results.has(keyOf(mutant)))
    const judging: Judging = { map, postgresUrl: server.url, budgetSeconds }
    let done = chosen.length - queue.length
    await Promise.all(
      workspaces.map(async (workspace) => {
        for (let mutant = queue.shift(); mutant && !isStopping(); mutant = queue.shift()) {
          const verdict = await judgeMutant(workspace, mutant, judging)
          await ledger.add({ ...verdict, mutant })
          done += 1
          tell(`${done} of ${count}  ${verdict.result}, ${verdict.seconds} s  ${placeOf(mutant)}  ${verdict.by}`)
        }
      }),
    )
    if (done < chosen.length)
      throw new Error(`${chosen.length - done} bugs are left; started again, it goes on with them`)
    report({ seed, chosen, passedOver, results: ledger.results, judgements, failingWithout: map.failing })
  } finally {
    for (const workspace of workspaces) await workspace.remove()
    await server.destroy()
  }
}

type Drawn = { readonly chosen: readonly Candidate[]; readonly passedOver: number }

async function draw(core: readonly string[], workspace: Workspace, count: number, seed: number): Promise<Drawn> {
  const kept = await openKept(tree, `drawn-${seed}-${count}-${await hashOf(tree, core)}`)
  if (kept.lines[0]) return JSON.parse(kept.lines[0]) as Drawn
  tell(`drawing ${count} bugs that compile`)
  const drawn = await firstCompiling(workspace, shuffled(await sitesIn(tree, core), seed), count)
  await kept.add(JSON.stringify(drawn))
  return drawn
}

type Ledger = { readonly results: ReadonlyMap<string, Result>; add(result: Result): Promise<void> }

async function openLedger(core: readonly string[], seed: number, keepsKilled: boolean): Promise<Ledger> {
  const kept = await openKept(tree, `results-${seed}-${await hashOf(tree, [...core, ...(await testFiles(tree))])}`)
  const killed = await openKept(tree, `killed-${seed}`)
  const known = [...(keepsKilled ? killed.lines : []), ...kept.lines].map((line) => JSON.parse(line) as Result)
  const results = new Map(known.map((result) => [keyOf(result.mutant), result]))
  return {
    results,
    async add(result) {
      results.set(keyOf(result.mutant), result)
      await kept.add(JSON.stringify(result))
      if (result.result !== 'survived') await killed.add(JSON.stringify(result))
    },
  }
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
