import type { Addressed } from './commit-query.ts'

/** Puts changes that touch the same conversation or write the same call row into different waves, in their order. Counts from 1. */
export function wavesOf(batch: readonly Addressed[]): number[] {
  const lastWaves = new Map<string, number>()
  return batch.map(({ tenant, id, change }) => {
    // Ids have no control characters, so these are unambiguous.
    const touched = [`${tenant}\n${id}`, ...change.calls.map((call) => `${tenant}\n\n${call.id}`)]
    const wave = 1 + Math.max(...touched.map((name) => lastWaves.get(name) ?? 0))
    for (const name of touched) lastWaves.set(name, wave)
    return wave
  })
}
