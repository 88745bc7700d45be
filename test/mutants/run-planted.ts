import { join } from 'node:path'
import { freshDatabase } from '../setup/fresh-database.ts'
import { startPostgres } from '../setup/start-postgres.ts'
import type { Case, Mutant } from './mutant.ts'
import { mutants } from './mutants.ts'
import { runCases } from './run-cases.ts'
import { PatchError, Workspace } from './workspace.ts'

type Verdict = {
  readonly mutant: string
  readonly result: 'killed' | 'survived' | 'patch does not apply' | 'named case did not run'
  readonly by: string
  readonly seconds: number
}

const tree = join(import.meta.dirname, '..', '..')

/** Plants each bug of the list whose name has one of these parts, and says which of its tests noticed it. */
export async function runPlanted(only: string, jobs: number): Promise<void> {
  const chosen = mutants.filter(({ name }) => only.split('|').some((part) => name.includes(part)))
  if (chosen.length === 0) throw new Error(`no planted bug has '${only}' in its name`)
  const server = await startPostgres()
  const workspaces: Workspace[] = []
  try {
    for (let job = 0; job < jobs; job++) workspaces.push(await Workspace.copyOf(tree))
    const soundness = await runCases(workspaces[0]!.root, namedCases(chosen), await freshDatabase(server.url))
    const unsound = soundness.filter(({ status }) => status !== 'passed')
    for (const { test, status, message } of unsound) console.error(`without a mutant: ${test}: ${status}\n${message}`)
    const verdicts: Verdict[] = []
    const queue = unsound.length > 0 ? [] : [...chosen]
    await Promise.all(
      workspaces.map(async (workspace) => {
        for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
          const verdict = await judge(workspace, mutant, server.url)
          verdicts.push(verdict)
          console.error(`${verdict.result.padEnd(8)} ${verdict.seconds} s  ${verdict.mutant}`)
        }
      }),
    )
    report(chosen, verdicts, unsound)
  } finally {
    for (const workspace of workspaces) await workspace.remove()
    await server.destroy()
  }
}

async function judge(workspace: Workspace, { name, edits, killedBy }: Mutant, postgresUrl: string): Promise<Verdict> {
  const startedAt = Date.now()
  const verdict = (result: Verdict['result'], by = ''): Verdict => ({
    mutant: name,
    result,
    by,
    seconds: Math.round((Date.now() - startedAt) / 100) / 10,
  })
  let restore: () => Promise<void>
  try {
    restore = await workspace.apply(edits)
  } catch (error) {
    if (error instanceof PatchError) return verdict('patch does not apply', error.message)
    throw error
  }
  try {
    const results = await runCases(workspace.root, killedBy, await freshDatabase(postgresUrl))
    const killer = results.find(({ status }) => status === 'failed')
    if (killer) return verdict('killed', killer.test)
    return verdict(results.some(({ status }) => status === 'missing') ? 'named case did not run' : 'survived')
  } finally {
    await restore()
  }
}

/** A case that fails without any mutant kills nothing. */
function report(
  chosen: readonly Mutant[],
  verdicts: readonly Verdict[],
  unsound: readonly { file: string; test: string; status: string }[],
): void {
  const order = new Map(chosen.map(({ name }, index) => [name, index]))
  console.table(verdicts.toSorted((left, right) => order.get(left.mutant)! - order.get(right.mutant)!))
  const named = (result: Verdict['result']) =>
    verdicts.filter((one) => one.result === result).map(({ mutant }) => mutant)
  const summary = {
    mutants: chosen.length,
    killed: named('killed').length,
    survivors: named('survived'),
    notApplied: named('patch does not apply'),
    notRun: named('named case did not run'),
    failingWithoutMutant: unsound.map(({ file, test, status }) => `${file}: ${test} (${status})`),
  }
  console.log(JSON.stringify(summary))
  if (summary.killed < chosen.length) process.exitCode = 1
}

function namedCases(all: readonly Mutant[]): Case[] {
  const cases = new Map(all.flatMap(({ killedBy }) => killedBy).map((one) => [JSON.stringify(one), one]))
  return [...cases.values()]
}
