import fc from 'fast-check'

/** How much of a list is asked for: what holds one row, and what holds all. */
export const listBounds = fc.record(
  { limit: fc.integer({ min: 1, max: 5 }), maxBytes: fc.constantFrom(1, 1_000_000_000) },
  { requiredKeys: [] },
)

/** Events of the reference store are small: some pages hold one, some several, some all. */
export const eventBounds = fc.record(
  { limit: fc.integer({ min: 1, max: 6 }), maxBytes: fc.constantFrom(1, 60, 150, 400, 1_000, 1_000_000_000) },
  { requiredKeys: [] },
)
