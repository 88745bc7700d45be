/** The SHA-256 of a text in UTF-8, as hex. Pure and synchronous, for browsers too, where the platform's own is asynchronous and needs a secure context. */
export function sha256(text: string): string {
  const bytes = new TextEncoder().encode(text)
  const blocks = paddedBlocks(bytes)
  const hash = Uint32Array.from(initial)
  const schedule = new Uint32Array(64)
  for (let offset = 0; offset < blocks.byteLength; offset += 64) {
    for (let word = 0; word < 16; word++) schedule[word] = blocks.getUint32(offset + word * 4)
    for (let word = 16; word < 64; word++) {
      const [before15, before2] = [schedule[word - 15]!, schedule[word - 2]!]
      const first = rotated(before15, 7) ^ rotated(before15, 18) ^ (before15 >>> 3)
      const second = rotated(before2, 17) ^ rotated(before2, 19) ^ (before2 >>> 10)
      schedule[word] = schedule[word - 16]! + first + schedule[word - 7]! + second
    }
    compress(hash, schedule)
  }
  return Array.from(hash, (word) => word.toString(16).padStart(8, '0')).join('')
}

/** The bytes, a 1 bit, zeros, and the length in bits at the end of the last block of 64 bytes. */
function paddedBlocks(bytes: Uint8Array): DataView {
  const padded = new Uint8Array(Math.ceil((bytes.byteLength + 9) / 64) * 64)
  padded.set(bytes)
  padded[bytes.byteLength] = 0x80
  const blocks = new DataView(padded.buffer)
  blocks.setUint32(padded.byteLength - 8, Math.floor(bytes.byteLength / 0x20000000))
  blocks.setUint32(padded.byteLength - 4, (bytes.byteLength * 8) >>> 0)
  return blocks
}

function compress(hash: Uint32Array, schedule: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number]
  for (let round = 0; round < 64; round++) {
    const sumE = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const first = (h + sumE + ((e & f) ^ (~e & g)) + constants[round]! + schedule[round]!) >>> 0
    const sumA = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const second = (sumA + ((a & b) ^ (a & c) ^ (b & c))) >>> 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) >>> 0, c, b, a, (first + second) >>> 0]
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) hash[index] = hash[index]! + value
}

function rotated(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

const primes = firstPrimes(64)
/** The first 32 bits of the fractions of cube roots and square roots of primes, as the standard has them. */
const constants = primes.map((prime) => fractionBits(Math.cbrt(prime)))
const initial = primes.slice(0, 8).map((prime) => fractionBits(Math.sqrt(prime)))

function fractionBits(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32)
}

function firstPrimes(count: number): number[] {
  const found: number[] = []
  for (let candidate = 2; found.length < count; candidate++)
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate)
  return found
}
