import { randomFillSync } from 'node:crypto'

let lastMs = 0
let counter = 0
/** Asking for random bytes costs more than the rest, so they are asked for many at a time. */
const pool = Buffer.alloc(4096)
const bytesPerId = 8
let taken = pool.length

/** A UUIDv7: sorts by the time it was made, also within one millisecond of one process. */
export function uuidV7(now: number = Date.now()): string {
  if (taken === pool.length) {
    randomFillSync(pool)
    taken = 0
  }
  const first = pool[taken]!
  if (now > lastMs) {
    lastMs = now
    counter = first
  } else {
    counter += 1
    if (counter > 0xfff) {
      lastMs += 1
      counter = 0
    }
  }
  if (lastMs !== time.ms) time = { ms: lastMs, text: hexTime(lastMs) }
  const order = (0x7000 | counter).toString(16)
  let tail = `${hex[(first & 0x3f) | 0x80]}${hex[pool[taken + 1]!]}-`
  for (let byte = taken + 2; byte < taken + bytesPerId; byte++) tail += hex[pool[byte]!]
  taken += bytesPerId
  return `${time.text}-${order}-${tail}`
}

let time = { ms: lastMs, text: hexTime(lastMs) }

function hexTime(ms: number): string {
  const text = ms.toString(16).padStart(12, '0')
  return `${text.slice(0, 8)}-${text.slice(8)}`
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
