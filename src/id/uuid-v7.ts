import { randomFillSync } from 'node:crypto'

let lastMs = 0
let counter = 0
const random = new Uint8Array(8)

/** A UUIDv7: sorts by the time it was made, also within one millisecond of one process. */
export function uuidV7(now: number = Date.now()): string {
  randomFillSync(random)
  if (now > lastMs) {
    lastMs = now
    counter = random[0]!
  } else {
    counter += 1
    if (counter > 0xfff) {
      lastMs += 1
      counter = 0
    }
  }
  const time = lastMs.toString(16).padStart(12, '0')
  const order = (0x7000 | counter).toString(16)
  random[0] = (random[0]! & 0x3f) | 0x80
  const tail = Buffer.from(random).toString('hex')
  return `${time.slice(0, 8)}-${time.slice(8)}-${order}-${tail.slice(0, 4)}-${tail.slice(4)}`
}
