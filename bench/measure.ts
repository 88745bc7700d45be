export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The interquartile range as a share of the median. */
export function spread(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))]!
  return (at(0.75) - at(0.25)) / median(values)
}

/** Runs `work` and returns how many of `count` it did per second. */
export async function ratePerSecond(count: number, work: () => Promise<void> | void): Promise<number> {
  const start = performance.now()
  await work()
  return (count * 1000) / (performance.now() - start)
}

export async function milliseconds(work: () => Promise<unknown> | unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Runs `lanes` loops at once, each with `perLane` iterations. */
export async function inLanes(
  lanes: number,
  perLane: number,
  one: (lane: number, n: number) => Promise<unknown>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let n = 0; n < perLane; n++) await one(lane, n)
    }),
  )
}

/** Runs `lanes` loops at once for a time, and returns the total iterations per second. */
export async function rateDuring(
  lanes: number,
  durationMs: number,
  one: (lane: number, n: number) => Promise<unknown>,
): Promise<number> {
  const start = performance.now()
  const end = start + durationMs
  let done = 0
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let n = 0; performance.now() < end; n++) {
        await one(lane, n)
        done += 1
      }
    }),
  )
  return (done * 1000) / (performance.now() - start)
}
