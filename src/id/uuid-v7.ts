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
  const time = lastMs.toString(16).padStart(12, '0')
  const order = (0x7000 | counter).toString(16)
  pool[taken] = (first & 0x3f) | 0x80
  const tail = pool.toString('hex', taken, taken + bytesPerId)
  taken += bytesPerId
  return `${time.slice(0, 8)}-${time.slice(8)}-${order}-${tail.slice(0, 4)}-${tail.slice(4)}`
}
