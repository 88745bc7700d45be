import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Json } from '../base/json.ts'

/** What arguments, answers and objects are checked with: any Standard Schema (zod, valibot, arktype ...) or a JSON Schema. */
export type Schema<T = unknown> = StandardSchemaV1<unknown, T> | JsonSchema

/** A JSON Schema object, told from other objects by its keywords. */
export type JsonSchema = { readonly [Keyword in JsonSchemaKeyword]?: unknown }

/** What the schema gives out after a check. */
export type SchemaOutput<S extends Schema> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : Json

/** What the schema takes in. */
export type SchemaInput<S extends Schema> = S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : Json

export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false
  const standard = (schema as Partial<StandardSchemaV1>)['~standard']
  return typeof standard?.validate === 'function'
}

/** A Standard Schema, or an object that may be a JSON Schema. */
export function isSchema(schema: unknown): schema is Schema {
  return isStandardSchema(schema) || (typeof schema === 'object' && schema !== null && !Array.isArray(schema))
}

type JsonSchemaKeyword =
  | '$schema'
  | '$id'
  | '$ref'
  | '$defs'
  | 'definitions'
  | 'title'
  | 'description'
  | 'default'
  | 'examples'
  | 'type'
  | 'enum'
  | 'const'
  | 'properties'
  | 'required'
  | 'additionalProperties'
  | 'items'
  | 'anyOf'
  | 'oneOf'
  | 'allOf'
  | 'not'
  | 'if'
  | 'format'
  | 'pattern'
