import { randomFillSync } from 'node:crypto'

let lastMs = 0
let counter = 0
/** Random bytes are expensive to request, so they are requested many at a time. */
const pool = Buffer.alloc(4096)
const bytesPerId = 8
let taken = pool.length
/** Hex text of each byte, and of the last time: looking up is cheaper than formatting. */
const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
let time = { ms: -1, text: '' }

/** A UUIDv7. Ids sort by creation time, also within one millisecond of one process. */
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
  if (time.ms !== lastMs) {
    const text = lastMs.toString(16).padStart(12, '0')
    time = { ms: lastMs, text: `${text.slice(0, 8)}-${text.slice(8)}-` }
  }
  let id = `${time.text}${(0x7000 | counter).toString(16)}-${hex[(first & 0x3f) | 0x80]}${hex[pool[taken + 1]!]}-`
  for (let at = taken + 2; at < taken + bytesPerId; at++) id += hex[pool[at]!]
  taken += bytesPerId
  return id
}
