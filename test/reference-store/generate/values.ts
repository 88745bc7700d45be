import fc from 'fast-check'
import type { Json, JsonObject } from '../../../src/base/json.ts'
import { isHostileText, text } from './texts.ts'

const number = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0.1, 5e-324, 1e21, -1.5e300, 2 ** 31),
  fc.integer(),
)

const leaf: fc.Arbitrary<Json> = fc.oneof(
  { weight: 6, arbitrary: text },
  { weight: 2, arbitrary: number },
  { weight: 1, arbitrary: fc.constantFrom(null, true, false) },
)

/** Keys in any order, also `__proto__` as an own one. */
export const object: fc.Arbitrary<JsonObject> = fc
  .array(fc.tuple(text, leaf), { maxLength: 4 })
  .map((entries) => Object.fromEntries(entries))

/** What fits into 64 KiB as JSON. */
export const shortObject: fc.Arbitrary<JsonObject> = object.filter((given) => JSON.stringify(given).length < 20_000)

export const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 5, arbitrary: leaf },
  { weight: 1, arbitrary: fc.array(leaf, { maxLength: 3 }) },
  { weight: 2, arbitrary: object },
  { weight: 1, arbitrary: fc.tuple(text, object).map(([key, inner]) => ({ [key]: [inner, { nested: inner }] })) },
)

/** What callers give as the reason of an error. */
export const reason: fc.Arbitrary<Json> = fc.oneof(
  fc.record({ ok: fc.constant(false), error: text }),
  fc.tuple(fc.constantFrom('error', 'reason', 'message'), leaf).map(([name, told]) => ({ [name]: told })),
)

/** Whether a stored value has a hostile string anywhere in it, also as a key. */
export function isHostile(candidate: Json): boolean {
  if (typeof candidate === 'string') return isHostileText(candidate)
  if (typeof candidate !== 'object' || candidate === null) return false
  return Object.entries(candidate).some(
    ([key, member]) => (!Array.isArray(candidate) && isHostileText(key)) || isHostile(member),
  )
}
