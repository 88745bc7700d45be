import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freshDatabase } from '../test/setup/fresh-database.ts'
import { type RunningPostgres, startPostgres } from '../test/setup/start-postgres.ts'
import { type Interval, ratioInterval } from './against/interval.ts'
import { type SourceTree, treeOf, workingTree } from './against/source-tree.ts'
import { type Slice, type TurnMeasure, turnMeasures } from './against/turn-measures.ts'
import { median } from './measure.ts'

/** The confidence of all intervals together: comparing a tree with itself shows a difference in one of twenty runs. */
const confidence = 0.95

/** Each block starts new processes. Both warm up at once; what they measure meanwhile is dropped. */
type Plan = { readonly blocks: number; readonly warmUpMs: number; readonly blockMs: number }
const normalPlan: Plan = { blocks: 18, warmUpMs: 8_000, blockMs: 14_000 }
const quickPlan: Plan = { blocks: 9, warmUpMs: 5_000, blockMs: 6_000 }

/** The minimum per block, even if the machine is so busy that the time is up earlier. */
const fewestRounds = 5

/** Per measure and figure (`sqlite.turn speed`, `sqlite.turn cpu`). Above 1: this tree is better. */
type Ratios = ReadonlyMap<string, number>

/**
 * Compares the turns of this tree with those of another commit: `npm run bench -- turns --against main [--quick]
 * [--only sqlite]`. Both run in their own processes and alternate many times a second, so that other load affects both.
 */
export async function benchTurnsAgainst(ref: string, args: readonly string[]): Promise<void> {
  const plan = args.includes('--quick') ? quickPlan : normalPlan
  const only = args.includes('--only') ? args[args.indexOf('--only') + 1]! : ''
  const measures = turnMeasures.filter(({ name }) => name.includes(only))
  if (measures.length === 0) throw new Error(`no measure has '${only}' in its name`)
  const [other, own, server] = [await treeOf(ref), await workingTree(), await startPostgres()]
  try {
    const blocks: Ratios[] = []
    while (blocks.length < plan.blocks) {
      blocks.push(await ratiosOfBlock([other, own], measures, plan, server))
      const shown = [...blocks.at(-1)!].map(([name, ratio]) => `${name} ${ratio.toFixed(2)}`).join(', ')
      console.error(`block ${blocks.length} of ${plan.blocks}: ${shown}`)
    }
    report(other.name, blocks)
  } finally {
    for (const tree of [other, own]) await tree.remove()
    await server.destroy()
  }
}

/** The median over all pairs of two processes. */
async function ratiosOfBlock(
  [other, own]: readonly [SourceTree, SourceTree],
  measures: readonly TurnMeasure[],
  { warmUpMs, blockMs }: Plan,
  server: RunningPostgres,
): Promise<Ratios> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  const pair = [
    await startChild(other, join(folder, 'other.db'), server),
    await startChild(own, join(folder, 'own.db'), server),
  ] as const
  try {
    await Promise.all(pair.map((child) => during(warmUpMs, 1, () => eachOf(measures, (one) => sliceOf(child, one)))))
    const ratios: Record<string, number[]> = {}
    await during(blockMs, fewestRounds, (round) =>
      eachOf(measures, async (measure, index) => {
        const [theirs, ours] = await slicesOfPair(pair, measure, (round + index) % 2 === 0)
        ;(ratios[`${measure.name} speed`] ??= []).push(theirs.ms / ours.ms)
        ;(ratios[`${measure.name} cpu`] ??= []).push(theirs.cpuMs / ours.cpuMs)
      }),
    )
    return new Map(Object.entries(ratios).map(([name, values]) => [name, median(values)]))
  } finally {
    for (const child of pair) await stopChild(child)
    await rm(folder, { recursive: true, force: true })
  }
}

/** Repeats `work` for this long, and at least this often. */
async function during(ms: number, atLeast: number, work: (round: number) => Promise<void>): Promise<void> {
  const end = performance.now() + ms
  for (let round = 0; round < atLeast || performance.now() < end; round++) await work(round)
}

async function eachOf<T>(all: readonly T[], work: (one: T, index: number) => Promise<unknown>): Promise<void> {
  for (const [index, one] of all.entries()) await work(one, index)
}

async function slicesOfPair(
  [other, own]: readonly [ChildProcess, ChildProcess],
  measure: TurnMeasure,
  isOtherFirst: boolean,
): Promise<[Slice, Slice]> {
  if (isOtherFirst) return [await sliceOf(other, measure), await sliceOf(own, measure)]
  const ours = await sliceOf(own, measure)
  return [await sliceOf(other, measure), ours]
}

async function startChild(tree: SourceTree, sqliteFile: string, server: RunningPostgres): Promise<ChildProcess> {
  const args = [tree.root, sqliteFile, await freshDatabase(server.url)]
  const child = fork(join(import.meta.dirname, 'against', 'turn-child.ts'), args, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  await reply(child, tree.name)
  return child
}

async function sliceOf(child: ChildProcess, measure: TurnMeasure): Promise<Slice> {
  child.send(measure)
  return (await reply(child, measure.name)) as Slice
}

function reply(child: ChildProcess, what: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`the process that measures ${what} has ended; what it said is above`))
    child.once('exit', onExit)
    child.once('message', (message) => {
      child.off('exit', onExit)
      resolve(message)
    })
  })
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill()
  await exit
}

function report(against: string, blocks: readonly Ratios[]): void {
  const names = [...blocks[0]!.keys()]
  const confidenceOfEach = 1 - (1 - confidence) / names.length
  const ratios: Record<string, Interval> = {}
  console.log(`\nthis tree against ${against}: middle of ${blocks.length} blocks and its interval, above 1 is better`)
  for (const name of names) {
    const interval = ratioInterval(
      blocks.map((block) => block.get(name)!),
      confidenceOfEach,
    )
    ratios[name] = interval
    const [median, low, high] = [interval.median, interval.low, interval.high].map((value) => value.toFixed(3))
    console.log(`  ${name.padEnd(32)} ${median}x  [${low}, ${high}]  ${verdictOf([interval])}`)
  }
  console.log(JSON.stringify({ against, confidence, ratios, verdict: verdictOf(Object.values(ratios)) }))
}

function verdictOf(intervals: readonly Interval[]): string {
  const seen: string[] = []
  if (intervals.some(({ low }) => low > 1)) seen.push('better')
  if (intervals.some(({ high }) => high < 1)) seen.push('worse')
  return seen.join(' and ') || 'no difference seen'
}
