import { dirname, join } from 'node:path'
import type { Candidate } from './candidate.ts'
import type { HashedFile } from './kept.ts'
import { type Probe, probed, probeOf } from './probes.ts'

/** A test that goes over a place, and how long it took when it was recorded. */
export type CoveringTest = {
  readonly file: string
  readonly name: string
  readonly ms: number
  /** How much it does around the place that few others do. */
  readonly closeness: number
}

/** What the tests of a file ran, over which texts of the core. */
export type RecordedFile = {
  readonly file: string
  readonly hash: string
  /** The hash of each source that they ran, by its path. */
  readonly sources: Readonly<Record<string, string>>
  readonly tests: readonly RecordedTest[]
}

export type RecordedTest = {
  /** Null for what the file ran before, between and after its tests. */
  readonly name: string | null
  readonly ms: number
  readonly isFailed: boolean
  /** One bit for each probe of a source, in base64, by its path. */
  readonly hits: Readonly<Record<string, string>>
}

/**
 * Which tests run which parts of the core. Only a help to choose: what was recorded over an older text of a source is read for the parts that are
 * still in it, and a part that is new is taken as run by every test that runs anything of its file.
 */
export class TestMap {
  readonly #files: ReadonlyMap<string, RecordedFile>
  readonly #core: ReadonlyMap<string, HashedFile>
  readonly #olderTexts: ReadonlyMap<string, string>

  constructor(
    files: readonly RecordedFile[],
    core: ReadonlyMap<string, HashedFile>,
    olderTexts: ReadonlyMap<string, string>,
  ) {
    this.#files = new Map(files.map((one) => [one.file, one]))
    this.#core = core
    this.#olderTexts = olderTexts
  }

  get failing(): string[] {
    return [...this.#files.values()].flatMap(({ file, tests }) =>
      tests.filter(({ isFailed }) => isFailed).map(({ name }) => `${file}: ${name}`),
    )
  }

  /** Whether there is such a test; with null, whether there is any in the file. */
  has(file: string, test: string | null): boolean {
    const tests = this.#files.get(file)?.tests ?? []
    return tests.some(({ name, isFailed }) => !isFailed && (test === null || name === test))
  }

  /** The tests that run this place, or where nothing tells, those that run anything of its file, or of those that import it. */
  testsOf(candidate: Candidate): CoveringTest[] {
    const { file, text } = this.#core.get(candidate.file)!
    if (probed(file, text).probes.length > 0) return this.#testsAt(candidate)
    // A file of nothing but constants: what they do is done elsewhere.
    const elsewhere = this.#importersOf(file).flatMap((importer) =>
      this.#testsAt({ ...candidate, file: importer, start: nowhere, end: nowhere }),
    )
    return [...new Map(elsewhere.map((test) => [`${test.file} ${test.name}`, test])).values()]
  }

  #importersOf(file: string): string[] {
    const imported = (importer: string, text: string) =>
      [...text.matchAll(/ from '(\..+?)'/g)].map(([, path]) => join(dirname(importer), path!))
    return [...this.#core.values()].filter((one) => imported(one.file, one.text).includes(file)).map(({ file }) => file)
  }

  #testsAt(candidate: Candidate): CoveringTest[] {
    const wantedOf = new Map<string, readonly number[]>()
    const aroundOf = new Map<string, readonly (readonly number[])[]>()
    const found = new Map<string, { readonly test: CoveringTest; readonly around: readonly number[] }>()
    const times = new Map<number, number>()
    for (const { file, sources, tests } of this.#files.values()) {
      const hash = sources[candidate.file]
      if (hash === undefined) continue
      if (!wantedOf.has(hash)) wantedOf.set(hash, this.#probesAt(candidate, hash))
      if (!aroundOf.has(hash)) aroundOf.set(hash, this.#probesAround(candidate, hash))
      const isHit = ({ hits }: RecordedTest) => hasOneOf(hits[candidate.file], wantedOf.get(hash)!)
      const isOutside = tests.some((test) => test.name === null && isHit(test))
      for (const test of tests) {
        if (test.name === null || test.isFailed || !(isOutside || isHit(test))) continue
        const around = aroundOf.get(hash)!.flatMap((numbers, index) => {
          return hasOneOf(test.hits[candidate.file], numbers) ? [index] : []
        })
        for (const index of around) times.set(index, (times.get(index) ?? 0) + 1)
        found.set(`${file} ${test.name}`, { test: { file, name: test.name, ms: test.ms, closeness: 0 }, around })
      }
    }
    return [...found.values()].map(({ test, around }) => {
      return { ...test, closeness: around.reduce((sum, index) => sum + 1 / times.get(index)!, 0) }
    })
  }

  /** For each part near a place, the probes that tell of it in the text of that hash. */
  #probesAround({ file, start, end }: Candidate, hash: string): readonly (readonly number[])[] {
    const source = this.#core.get(file)!
    const text = source.hash === hash ? source.text : this.#olderTexts.get(hash)
    if (text === undefined) return []
    const recorded = probed(file, text).probes
    return probed(file, source.text)
      .probes.filter((probe) => probe.start > start - nearby && probe.start < end + nearby)
      .map((probe) => recorded.filter((one) => partOf(text, one) === partOf(source.text, probe)))
      .map((same) => same.map(({ number }) => number))
  }

  /** The probes that tell of a place in the text of that hash. */
  #probesAt(candidate: Candidate, hash: string): readonly number[] {
    const source = this.#core.get(candidate.file)!
    const { probes } = probed(source.file, source.text)
    const probe = probeOf(probes, candidate)
    const text = source.hash === hash ? source.text : this.#olderTexts.get(hash)
    if (text === undefined) return everything
    const recorded = hash === source.hash ? probes : probed(source.file, text).probes
    const same = probe && recorded.filter((one) => partOf(text, one) === partOf(source.text, probe))
    const wanted = hash === source.hash && probe ? [probe] : same
    return (wanted?.length ? wanted : recorded).map(({ number }) => number)
  }
}

const nowhere = -1

/** So many characters before and after a place are around it. */
const nearby = 600

/** Any bit at all. */
const everything: readonly number[] = []

function hasOneOf(hits: string | undefined, wanted: readonly number[]): boolean {
  if (hits === undefined) return false
  if (wanted === everything) return true
  const bits = Buffer.from(hits, 'base64')
  return wanted.some((one) => (bits[one >> 3]! & (1 << (one & 7))) !== 0)
}

function partOf(text: string, { start, end }: Probe): string {
  return text.slice(start, end)
}
