import { type Candidate, keyOf } from './candidate.ts'
import type { Verdict } from './judge-mutant.ts'
import { type HashedFile, hashOf, hashOfAll, openKept } from './kept.ts'
import type { TestMap } from './test-map.ts'

export type Result = Verdict & { readonly mutant: Candidate }

/** What is known of bugs that were planted before. */
export type Ledger = {
  /** By key. */
  readonly results: ReadonlyMap<string, Result>
  add(result: Result): Promise<void>
  /** Whether a bug has lived through the tests of this file, as they are, before. */
  livesThrough(mutant: Candidate, file: string): boolean
}

type Entry = {
  readonly result: Result
  /** Of all sources and tests. */
  readonly tree: string
  /** Of the source that the bug was planted in. */
  readonly source: string
  /** The hash of each test file that a survivor lived through. */
  readonly through?: Readonly<Record<string, string>>
}

export type LedgerOptions = {
  readonly tree: string
  readonly core: ReadonlyMap<string, HashedFile>
  readonly tests: ReadonlyMap<string, HashedFile>
  readonly map: TestMap
  /** Whether what was found on another tree counts: killed by a test that is still there, or not by one that has not changed, in a source that has not. */
  readonly keeps: boolean
}

/** What was found on the very same sources and tests stays. */
export async function openLedger({ tree, core, tests, map, keeps }: LedgerOptions): Promise<Ledger> {
  const kept = await openKept(tree, 'results')
  const hash = hashOf(`${hashOfAll(core)} ${hashOfAll(tests)}`)
  const results = new Map<string, Result>()
  const through = new Map<string, Readonly<Record<string, string>>>()
  for (const line of kept.lines) {
    const entry = JSON.parse(line) as Entry
    const { result } = entry
    const key = keyOf(result.mutant)
    if (entry.source !== core.get(result.mutant.file)?.hash) continue
    const isKilled = result.by !== null && map.has(result.by.file, result.by.test)
    if (entry.tree === hash || (keeps && isKilled)) results.set(key, result)
    else if (keeps && entry.through) through.set(key, entry.through)
  }
  return {
    results,
    async add(result) {
      results.set(keyOf(result.mutant), result)
      const source = core.get(result.mutant.file)!.hash
      const ran = new Set(map.testsOf(result.mutant).map(({ file }) => file))
      const hashes = Object.fromEntries([...ran].map((file) => [file, tests.get(file)!.hash]))
      const isWhole = result.result === 'survived' && result.isWhole
      await kept.add(
        JSON.stringify({ result, tree: hash, source, ...(isWhole ? { through: hashes } : {}) } satisfies Entry),
      )
    },
    livesThrough(mutant, file) {
      const known = through.get(keyOf(mutant))?.[file]
      return known !== undefined && known === tests.get(file)?.hash
    },
  }
}
