import type { Json, JsonObject } from '../json.ts'

/** An invalid schema. The message names the keyword. */
export class MalformedSchema extends Error {}

/**
 * A schema as its author wrote it. The readers below return undefined for absent keywords and throw `MalformedSchema`
 * for malformed ones.
 */
export type Schema = JsonObject | boolean

export function numberIn(schema: JsonObject, keyword: string): number | undefined {
  return read(schema, keyword, 'a number', (value) => typeof value === 'number')
}

export function textIn(schema: JsonObject, keyword: string): string | undefined {
  return read(schema, keyword, 'a string', (value) => typeof value === 'string')
}

export function listIn(schema: JsonObject, keyword: string): readonly Json[] | undefined {
  return read(schema, keyword, 'a list', Array.isArray)
}

export function textsIn(schema: JsonObject, keyword: string): readonly string[] | undefined {
  return read(schema, keyword, 'a list of strings', isTexts)
}

export function objectIn(schema: JsonObject, keyword: string): [string, Json][] | undefined {
  const found = read<JsonObject>(schema, keyword, 'an object', isObject)
  return found && Object.entries(found).filter(([, value]) => value !== undefined)
}

export function schemaIn(schema: JsonObject, keyword: string): Schema | undefined {
  return read(schema, keyword, 'a schema', isSchema)
}

export function schemasIn(schema: JsonObject, keyword: string): readonly Schema[] | undefined {
  return read(schema, keyword, 'a list of schemas', (value) => Array.isArray(value) && value.every(isSchema))
}

export function schemaMapIn(schema: JsonObject, keyword: string): [string, Schema][] | undefined {
  const found = objectIn(schema, keyword)
  if (found && !found.every(([, value]) => isSchema(value))) throw malformed(keyword, 'an object of schemas')
  return found as [string, Schema][] | undefined
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || isObject(value)
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

export function malformed(keyword: string, expected: string): MalformedSchema {
  return new MalformedSchema(`'${keyword}' must be ${expected}`)
}

function read<T>(
  schema: JsonObject,
  keyword: string,
  expected: string,
  isExpected: (value: unknown) => boolean,
): T | undefined {
  const value: unknown = schema[keyword]
  if (value !== undefined && !isExpected(value)) throw malformed(keyword, expected)
  return value as T | undefined
}
