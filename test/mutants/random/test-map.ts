import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freshDatabase } from '../../setup/fresh-database.ts'
import { Workspace } from '../workspace.ts'
import type { Candidate } from './candidate.ts'
import { hashOf, openKept } from './kept.ts'
import { type Probe, probed, probeOf } from './probes.ts'
import type { ProbeRecord } from './record-probes.ts'
import { runTests } from './run-tests.ts'

/** A test, and how long it took when it was recorded. */
export type CoveringTest = { readonly file: string; readonly name: string; readonly ms: number }

/** Which tests run which parts of the core. Only a help to choose: a test that is not in it is not lost, since it was recorded as failing or has none. */
export class TestMap {
  readonly #sources: ReadonlyMap<string, readonly Probe[]>
  readonly #records: readonly ProbeRecord[]
  readonly #hits: readonly Buffer[]

  constructor(sources: ReadonlyMap<string, readonly Probe[]>, records: readonly ProbeRecord[]) {
    this.#sources = sources
    this.#records = records
    this.#hits = records.map(({ hits }) => Buffer.from(hits, 'base64'))
  }

  get failing(): string[] {
    return this.#records.filter(({ isFailed }) => isFailed).map(({ file, name }) => `${file}: ${name}`)
  }

  /** The tests that run this place, or where nothing tells, those that run anything of its file. */
  testsOf(candidate: Candidate): CoveringTest[] {
    const probes = this.#sources.get(candidate.file) ?? []
    const number = probeOf(probes, candidate)
    const wanted = number === undefined ? probes.map((probe) => probe.number) : [number]
    const isHit = (hits: Buffer) => wanted.some((one) => (hits[one >> 3]! & (1 << (one & 7))) !== 0)
    const outside = new Set<string>()
    const found = new Map<string, CoveringTest>()
    for (const [index, { file, name }] of this.#records.entries())
      if (name === null && isHit(this.#hits[index]!)) outside.add(file)
    for (const [index, { file, name, ms, isFailed }] of this.#records.entries()) {
      if (name === null || isFailed || !(outside.has(file) || isHit(this.#hits[index]!))) continue
      found.set(`${file} ${name}`, { file, name, ms })
    }
    return [...found.values()]
  }
}

/** Tests of what is no core, and those that start processes of their own, in which nothing can be recorded. */
const leftOut = [
  'test/tooling',
  'test/mutants',
  'test/examples',
  'test/bench',
  'test/cli',
  'test/faults',
  'test/setup',
  'src/cli',
]

export type MapOptions = {
  readonly tree: string
  readonly core: readonly string[]
  readonly workers: number
  readonly postgresUrl: string
  readonly tell: (line: string) => void
  readonly isStopping: () => boolean
}

/** Runs all tests once over sources with probes; what it finds is kept for as long as neither sources nor tests change. */
export async function testMap(options: MapOptions): Promise<TestMap> {
  const { tree, core, tell } = options
  const tests = await testFiles(tree)
  const kept = await openKept(tree, `tests-${await hashOf(tree, [...core, ...tests])}`)
  const known = new Set(kept.lines.map((line) => (JSON.parse(line) as Recorded).file))
  const missing = tests.filter((file) => !known.has(file))
  if (missing.length > 0) {
    tell(`finding out what ${missing.length} test files run; this takes as long as they do`)
    await record(options, missing, async (recorded) => kept.add(JSON.stringify(recorded)))
  }
  const records = kept.lines.flatMap((line) => (JSON.parse(line) as Recorded).records)
  return new TestMap((await probedCore(tree, core)).probes, records)
}

/** Of one test file. */
type Recorded = { readonly file: string; readonly records: readonly ProbeRecord[] }

/** So many test files in one run: what was recorded is kept after each. */
const filesPerRun = 12

async function record(
  { tree, core, workers, postgresUrl, tell, isStopping }: MapOptions,
  missing: readonly string[],
  keep: (recorded: Recorded) => Promise<void>,
): Promise<void> {
  const workspace = await Workspace.copyOf(tree)
  try {
    const { texts, count } = await probedCore(tree, core)
    for (const [file, text] of texts) await writeFile(join(workspace.root, file), text)
    const output = join(workspace.root, 'probes.jsonl')
    for (let from = 0; from < missing.length; from += filesPerRun) {
      if (isStopping()) throw new Error('it was told to stop; started again, it goes on from here')
      const files = missing.slice(from, from + filesPerRun)
      await writeFile(output, '')
      const env = {
        PERDURE_MUTANTS_POSTGRES: await freshDatabase(postgresUrl),
        PERDURE_PROBES_OUTPUT: output,
        PERDURE_PROBES_COUNT: String(count),
      }
      const run = { files, records: true, workers, cache: join(workspace.root, '.vitest') }
      await runTests(workspace.root, run, { limitMs: 60 * 60_000, env })
      const lines = (await readFile(output, 'utf8')).split('\n').filter((line) => line !== '')
      const records = lines.map((line) => JSON.parse(line) as ProbeRecord)
      for (const file of files) await keep({ file, records: records.filter((one) => one.file === file) })
      tell(`${Math.min(from + filesPerRun, missing.length)} of ${missing.length} test files`)
    }
  } finally {
    await workspace.remove()
  }
}

type ProbedCore = {
  readonly texts: ReadonlyMap<string, string>
  readonly probes: ReadonlyMap<string, readonly Probe[]>
  readonly count: number
}

async function probedCore(tree: string, core: readonly string[]): Promise<ProbedCore> {
  const texts = new Map<string, string>()
  const probes = new Map<string, readonly Probe[]>()
  let count = 0
  for (const file of core) {
    const result = probed(file, await readFile(join(tree, file), 'utf8'), count)
    texts.set(file, result.text)
    probes.set(file, result.probes)
    count += result.probes.length
  }
  return { texts, probes, count }
}

export async function testFiles(tree: string): Promise<string[]> {
  const found: string[] = []
  for (const folder of ['src', 'test'])
    for (const path of await readdir(join(tree, folder), { recursive: true }))
      if (path.endsWith('.test.ts')) found.push(`${folder}/${path}`)
  return found.filter((path) => !leftOut.some((folder) => path.startsWith(`${folder}/`))).sort()
}
