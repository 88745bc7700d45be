import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startPostgres } from '../../setup/start-postgres.ts'
import { Workspace } from '../workspace.ts'
import { type HashedFile, keepText, keptText, openKept } from './kept.ts'
import { probed } from './probes.ts'
import type { ProbeRecord } from './record-probes.ts'
import { type RecordedFile, type RecordedTest, TestMap } from './test-map.ts'
import { TestRunner } from './test-runner.ts'

export type MapOptions = {
  readonly tree: string
  readonly core: ReadonlyMap<string, HashedFile>
  readonly tests: ReadonlyMap<string, HashedFile>
  readonly workers: number
  /** Whether what was not recorded yet is. */
  readonly records: boolean
  readonly tell: (line: string) => void
  readonly isStopping: () => boolean
}

/** Runs the tests once over sources with probes. What it finds of a test file is kept until that file changes. */
export async function testMap(options: MapOptions): Promise<TestMap> {
  const { tree, core, tests, tell } = options
  const kept = await openKept(tree, 'map')
  const known = new Map<string, RecordedFile>()
  for (const line of kept.lines) {
    const recorded = JSON.parse(line) as RecordedFile
    if (tests.has(recorded.file)) known.set(recorded.file, recorded)
  }
  if (options.records) await kept.replace([...known.values()].map((recorded) => JSON.stringify(recorded)))
  const missing = [...tests.values()].filter(({ file, hash }) => known.get(file)?.hash !== hash)
  if (options.records && missing.length > 0) {
    tell(`finding out what ${missing.length} test files run; this takes as long as they do`)
    for (const { text } of core.values()) await keepText(tree, text)
    await record(options, cheapFirst(missing, known), async (recorded) => {
      known.set(recorded.file, recorded)
      await kept.add(JSON.stringify(recorded))
    })
  }
  return new TestMap([...known.values()], core, await olderTexts(tree, core, known))
}

/** Most is known soon, and what takes minutes comes last. */
function cheapFirst(files: readonly HashedFile[], known: ReadonlyMap<string, RecordedFile>): HashedFile[] {
  const msOf = ({ file }: HashedFile) => known.get(file)?.tests.reduce((sum, { ms }) => sum + ms, 0) ?? 0
  const isOnServer = ({ file }: HashedFile) => Number(/postgres|upkeep|simulator/.test(file))
  return files.toSorted((left, right) => isOnServer(left) - isOnServer(right) || msOf(left) - msOf(right))
}

async function record(
  { tree, core, workers, tell, isStopping }: MapOptions,
  missing: readonly HashedFile[],
  keep: (recorded: RecordedFile) => Promise<void>,
): Promise<void> {
  const queue = [...missing]
  await Promise.all(
    Array.from({ length: workers }, async () => {
      const workspace = await Workspace.copyOf(tree)
      const server = await startPostgres({ settings: { fsync: 'off' } })
      const ranges = await plantProbes(workspace, core)
      const output = join(workspace.root, 'probes.jsonl')
      const env = { PERDURE_PROBES_OUTPUT: output, PERDURE_PROBES_COUNT: String(ranges.at(-1)?.end ?? 0) }
      const runner = new TestRunner({ root: workspace.root, records: true }, server.url, env)
      try {
        for (let next = queue.shift(); next && !isStopping(); next = queue.shift()) {
          const { file, hash } = next
          let { tests, problem } = await recordFile(runner, file, output, ranges)
          // What a busy machine has made fail is given another chance.
          if (problem !== '') ({ tests, problem } = await recordFile(runner, file, output, ranges))
          const paths = new Set(tests.flatMap(({ hits }) => Object.keys(hits)))
          const sources = Object.fromEntries([...paths].map((path) => [path, core.get(path)!.hash]))
          await keep({ file, hash, sources, tests })
          tell(`${queue.length} left  ${file}  ${problem}`)
        }
      } finally {
        runner.close()
        await workspace.remove()
        await server.destroy()
      }
    }),
  )
  if (queue.length > 0) throw new Error('it was told to stop; started again, it goes on from here')
}

async function recordFile(
  runner: TestRunner,
  file: string,
  output: string,
  ranges: readonly ProbeRange[],
): Promise<{ tests: readonly RecordedTest[]; problem: string }> {
  await writeFile(output, '')
  const { result, why } = await runner.run({ file }, { testMs: 60_000, unitMs: 15 * 60_000 })
  const lines = (await readFile(output, 'utf8')).split('\n').filter((line) => line !== '')
  const tests = lines.map((line) => recordedTest(JSON.parse(line) as ProbeRecord, ranges))
  return { tests, problem: result === 'passed' ? '' : `${result}: ${why}` }
}

/** The numbers of a source's probes among those of all. */
type ProbeRange = { readonly file: string; readonly start: number; readonly end: number }

async function plantProbes(workspace: Workspace, core: ReadonlyMap<string, HashedFile>): Promise<ProbeRange[]> {
  const ranges: ProbeRange[] = []
  let start = 0
  for (const { file, text } of core.values()) {
    const { text: withProbes, probes } = probed(file, text, start)
    await writeFile(join(workspace.root, file), withProbes)
    ranges.push({ file, start, end: start + probes.length })
    start += probes.length
  }
  return ranges
}

function recordedTest({ name, ms, isFailed, hits }: ProbeRecord, ranges: readonly ProbeRange[]): RecordedTest {
  const all = Buffer.from(hits, 'base64')
  const byFile: Record<string, string> = {}
  for (const { file, start, end } of ranges) {
    const bits = Buffer.alloc(Math.ceil((end - start) / 8))
    for (let number = start; number < end; number++)
      if (all[number >> 3]! & (1 << (number & 7))) bits[(number - start) >> 3]! |= 1 << ((number - start) & 7)
    if (bits.some((byte) => byte !== 0)) byFile[file] = bits.toString('base64')
  }
  return { name, ms, isFailed, hits: byFile }
}

async function olderTexts(
  tree: string,
  core: ReadonlyMap<string, HashedFile>,
  known: ReadonlyMap<string, RecordedFile>,
): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  const hashes = new Set([...known.values()].flatMap(({ sources }) => Object.values(sources)))
  for (const { hash } of core.values()) hashes.delete(hash)
  for (const hash of hashes) {
    const text = await keptText(tree, hash)
    if (text !== null) texts.set(hash, text)
  }
  return texts
}
