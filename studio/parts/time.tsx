import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const told of listeners) told()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The time, once a second, the same for every part of the page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}

const units = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const

/** As in `6 d 23 h` or `40 s`: the two largest units, without a zero. */
export function duration(ms: number): string {
  const left = Math.max(0, Math.floor(ms / 1_000) * 1_000)
  const first = units.findIndex(([size]) => left >= size)
  if (first < 0) return '0 s'
  const [size, name] = units[first]!
  const second = units[first + 1]
  const rest = second ? Math.floor((left % size) / second[0]) : 0
  const whole = `${Math.floor(left / size)} ${name}`
  return second && rest > 0 && name !== 'm' ? `${whole} ${rest} ${second[1]}` : whole
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** How long ago, with the exact time on hover. */
export function Ago({ at }: { at: number }) {
  const passed = useNow() - at
  return (
    <time dateTime={new Date(at).toISOString()} title={exact.format(at)} className="whitespace-nowrap">
      {passed < 5_000 ? 'now' : duration(passed)}
    </time>
  )
}

/** As in `3 m ago` or `just now`, with the exact time on hover. */
export function AgoWords({ at }: { at: number }) {
  const passed = useNow() - at
  return (
    <time dateTime={new Date(at).toISOString()} title={exact.format(at)} className="whitespace-nowrap">
      {passed < 5_000 ? 'just now' : `${duration(passed)} ago`}
    </time>
  )
}

/** How long until, with the exact time on hover. */
export function Until({ at }: { at: number }) {
  const left = at - useNow()
  return (
    <time dateTime={new Date(at).toISOString()} title={exact.format(at)} className="whitespace-nowrap">
      {left <= 0 ? 'expired' : `in ${duration(left)}`}
    </time>
  )
}
