/** Values that a log can hold. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json }

/** Whether an unchecked value is a plain object. */

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The string if it is a non-empty one, otherwise null. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** Whether both say the same. The order of members does not matter. */
export function isSameJson(one: Json, other: Json): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [left, right] = [one as Record<string, Json>, other as Record<string, Json>]
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isSameJson(left[key]!, right[key]!))
  )
}
