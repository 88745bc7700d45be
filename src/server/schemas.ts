import type { JsonObject } from '../base/json.ts'

/** An object that has these members and no others. */
export function object(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false }
}

export const text = { type: 'string', minLength: 1 }
export const anything: JsonObject = { description: 'Any JSON value.' }
export const seq = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
export const round = { type: 'integer', minimum: 1, maximum: 1_000_000, description: 'Default: 1.' }
export const noQuery = object({})
export const noBody = object({})

export function limit(most: number): JsonObject {
  return { type: 'integer', minimum: 1, maximum: most }
}
