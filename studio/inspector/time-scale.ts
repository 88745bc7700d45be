import type { Span } from './spans.ts'

/** A stretch of time in which nothing ran, drawn shorter than it was. Places are between 0 and 1. */
export type Fold = { readonly from: number; readonly to: number; readonly start: number; readonly end: number }

/** Where moments are on the timeline, from 0 to 1. */
export type TimeScale = { readonly folds: readonly Fold[]; place(at: number): number }

const shortestFoldMs = 5_000
/** The part of the width that a folded wait takes, and all of them together at most. */
const foldWidth = 0.14
const mostFolded = 0.5

/**
 * To scale, except for long waits: while only queues, people and children are waited for, and that takes longer than all work of the turn, the wait is folded to
 * a fixed width. `now`: the end of what still goes on.
 */
export function timeScale(spans: readonly Span[], { from, to }: { from: number; to: number }): TimeScale {
  const end = Math.max(to, from + 1)
  const busy = merged(
    spans
      .filter(({ kind }) => kind === 'model' || kind === 'tool' || kind === 'hooks')
      .map((span) => [Math.max(from, span.from), Math.min(end, span.to ?? end)] as const)
      .filter(([start, stop]) => stop > start),
  )
  const busyMs = busy.reduce((total, [start, stop]) => total + stop - start, 0)
  const quiet = gapsBetween(busy, from, end).filter(
    ([start, stop]) => stop - start >= shortestFoldMs && stop - start > busyMs,
  )
  // Beside nothing, a wait needs no less than its own width.
  if (quiet.length === 0 || busy.length === 0) return { folds: [], place: (at) => clamp((at - from) / (end - from)) }
  const foldedMs = quiet.reduce((total, [start, stop]) => total + stop - start, 0)
  const width = Math.min(foldWidth, mostFolded / quiet.length)
  const scaledMs = Math.max(1, end - from - foldedMs)
  const perMs = (1 - width * quiet.length) / scaledMs
  const place = (at: number): number => {
    let position = 0
    let done = from
    for (const [start, stop] of quiet) {
      if (at <= start) break
      position += (start - done) * perMs
      position += width * clamp((at - start) / (stop - start))
      done = stop
    }
    return clamp(position + Math.max(0, at - done) * perMs)
  }
  const folds = quiet.map(([start, stop]) => ({ from: start, to: stop, start: place(start), end: place(stop) }))
  return { folds, place }
}

type Interval = readonly [number, number]

function merged(intervals: readonly Interval[]): Interval[] {
  const found: [number, number][] = []
  for (const [start, stop] of [...intervals].sort((one, other) => one[0] - other[0])) {
    const last = found.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], stop)
    else found.push([start, stop])
  }
  return found
}

function gapsBetween(busy: readonly Interval[], from: number, to: number): Interval[] {
  const gaps: Interval[] = []
  let done = from
  for (const [start, stop] of [...busy, [to, to] as const]) {
    if (start > done) gaps.push([done, start])
    done = Math.max(done, stop)
  }
  return gaps
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value))
}

/** As in `340 ms`, `1.2 s`, `4 m 10 s` or `3 d`. */
export function length(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'm'],
    [1_000, 's'],
  ] as const
  const first = units.findIndex(([size]) => ms >= size)
  const [size, name] = units[first]!
  const [nextSize, nextName] = units[first + 1]!
  const rest = Math.floor((ms % size) / nextSize)
  return `${Math.floor(ms / size)} ${name}${rest > 0 ? ` ${rest} ${nextName}` : ''}`
}
