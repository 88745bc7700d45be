export type SeededRandom = {
  /** From 0 up to but not including 1. */
  next(): number
  /** A whole number; both bounds are possible. */
  int(min: number, max: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
}

/** The same numbers for the same seed, on every machine. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  const next = (): number => {
    // A Weyl sequence, scrambled: every 32-bit state is visited once.
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (items) => items[int(0, items.length - 1)]!,
  }
}
