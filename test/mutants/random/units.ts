import { basename, dirname } from 'node:path'
import type { CoveringTest } from './test-map.ts'
import type { TestUnit } from './test-runner.ts'

/** Tests of one file that run together, with how long they took when they were recorded. */
export type Unit = Required<TestUnit> & { readonly ms: number; readonly longestMs: number }

/** What it takes to start a process and load a file. */
export const loadMs = 1_500

/** What takes longer waits for all that does not. */
const longMs = 15_000

/** The tests of a place, those first that are near it, need no database, and cost little for what they do there. */
export function unitsOf(tests: readonly CoveringTest[], source: string): Unit[] {
  const groups = Map.groupBy(tests, (test) => `${storeRank(test)} ${test.file}`)
  const units = [...groups.values()].map((group): Unit & { readonly order: readonly number[] } => {
    const ms = group.reduce((sum, test) => sum + test.ms, 0)
    const file = group[0]!.file
    return {
      file,
      names: group.map(({ name }) => name),
      ms,
      longestMs: Math.max(...group.map((test) => test.ms)),
      order: [
        distance(file, source),
        Number(ms > longMs),
        storeRank(group[0]!),
        (loadMs + ms) / group.reduce((sum, { closeness }) => sum + closeness, 0),
      ],
    }
  })
  units.sort((left, right) => compared(left.order, right.order))
  return units.map(({ order: _, ...unit }) => unit)
}

/** 0 for the tests of the same file, 1 of the same folder, 2 for others. */
function distance(file: string, source: string): number {
  if (file === source.replace(/\.ts$/, '.test.ts')) return 0
  return dirname(file) === dirname(source) || basename(file).startsWith(basename(source, '.ts')) ? 1 : 2
}

/** 0 in memory, 1 on files, 2 on a server. */
function storeRank({ file, name }: CoveringTest): number {
  const isOn = (store: string) => name.includes(`(${store})`) || file.includes(`/${store}`)
  if (isOn('postgres')) return 2
  return isOn('sqlite') ? 1 : 0
}

function compared(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((value, index) => value !== right[index])
  return at < 0 ? 0 : left[at]! - right[at]!
}
