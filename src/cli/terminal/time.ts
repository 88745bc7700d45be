const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** As in '3h ago'. */
export function ago(at: number, now = Date.now()): string {
  return now - at < 1_000 ? 'just now' : `${duration(now - at)} ago`
}

/** As in '3h', in the largest unit that fits. */
export function duration(ms: number): string {
  const [name, size] = units.find(([, each]) => ms >= each) ?? units[3]
  return `${Math.max(0, Math.floor(ms / size))}${name}`
}
