/** From when until when something took place, and whether it was only waiting. */
export type Interval = { readonly from: number; readonly to: number; readonly isWait: boolean }

/** A stretch of waiting that is drawn shorter than it was. `start` and `end` are parts of the whole width. */
export type Fold = { readonly from: number; readonly to: number; readonly start: number; readonly end: number }

export type TimeScale = {
  /** Where a moment is drawn, from 0 to 1. */
  readonly place: (at: number) => number
  readonly folds: readonly Fold[]
}

/** The width that a folded stretch takes, and all of them together at most. */
const foldWidth = 0.12
const foldsWidth = 0.6

/**
 * Time to scale, except where nothing but waiting took place for longer than all the work: such a stretch is folded to a fixed width. A session that worked
 * for three seconds and waited for three weeks shows both.
 */
export function timeScale(intervals: readonly Interval[]): TimeScale {
  const times = [...new Set(intervals.flatMap(({ from, to }) => [from, to]))].sort((one, other) => one - other)
  const stretches = stretchesOf(times, intervals)
  const worked = stretches.reduce((sum, { length, isBusy }) => sum + (isBusy ? length : 0), 0)
  const isFolded = ({ isBusy, length }: Stretch): boolean => !isBusy && length > Math.max(2 * worked, 1)
  const foldCount = stretches.filter(isFolded).length
  const toScale = stretches.reduce((sum, stretch) => sum + (isFolded(stretch) ? 0 : stretch.length), 0)
  const oneFold = toScale === 0 ? 1 / Math.max(foldCount, 1) : Math.min(foldWidth, foldsWidth / Math.max(foldCount, 1))
  const perMs = toScale === 0 ? 0 : (1 - oneFold * foldCount) / toScale
  const starts: number[] = []
  const folds: Fold[] = []
  let place = 0
  for (const stretch of stretches) {
    starts.push(place)
    const width = isFolded(stretch) ? oneFold : stretch.length * perMs
    if (isFolded(stretch))
      folds.push({ from: stretch.from, to: stretch.from + stretch.length, start: place, end: place + width })
    place += width
  }
  starts.push(place)
  return { folds, place: (at) => placeOf(at, times, starts) }
}

type Stretch = { readonly from: number; readonly length: number; readonly isBusy: boolean }

function stretchesOf(times: readonly number[], intervals: readonly Interval[]): Stretch[] {
  const begins = new Map<number, number>()
  for (const { from, to, isWait } of intervals) {
    if (isWait || to <= from) continue
    begins.set(from, (begins.get(from) ?? 0) + 1)
    begins.set(to, (begins.get(to) ?? 0) - 1)
  }
  let running = 0
  return times.slice(0, -1).map((from, index) => {
    running += begins.get(from) ?? 0
    return { from, length: times[index + 1]! - from, isBusy: running > 0 }
  })
}

/** Between two times that are known, in proportion. */
function placeOf(at: number, times: readonly number[], starts: readonly number[]): number {
  const after = times.findIndex((time) => time >= at)
  if (after < 0) return starts.at(-1) ?? 0
  if (after === 0 || times[after] === at) return starts[after] ?? 0
  const [from, to] = [times[after - 1]!, times[after]!]
  const [start, end] = [starts[after - 1]!, starts[after]!]
  return start + ((end - start) * (at - from)) / (to - from)
}
