import fc from 'fast-check'

const hour = 3_600_000

/** Longer than any run on a real clock takes, and past what a raw timer holds. */
export const farMs: fc.Arbitrary<number> = fc.constantFrom(
  hour,
  25 * hour,
  2 ** 31,
  2 ** 31 + hour,
  100 * 365 * 24 * hour,
)

/** How long a command lets pass where that costs nothing. */
export const passingMs: fc.Arbitrary<number> = fc.constantFrom(0, 1, 999, 4_000, hour, 26 * hour, 2 ** 31, 2 ** 32)
