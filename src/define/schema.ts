import { createRequire } from 'node:module'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { SchemaNotConvertibleError, SchemaTooComplexError } from '../base/errors/definition-errors.ts'
import { InvalidArgumentError, MissingDependencyError } from '../base/errors/store-errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { checkOutsideSchema } from '../base/json-schema/compile-schema.ts'
import { MalformedSchema } from '../base/json-schema/read-keyword.ts'
import { TooComplex } from '../base/json-schema/step-budget.ts'

/** A schema for arguments, answers and objects: any Standard Schema (zod, valibot, arktype ...) or a JSON Schema. */
export type Schema<T = unknown> = StandardSchemaV1<unknown, T> | JsonSchema

/** A JSON Schema object, recognised by its keywords. */
export type JsonSchema = { readonly [Keyword in JsonSchemaKeyword]?: unknown }

/** The type of a value after validation. */
export type SchemaOutput<S extends Schema> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : Json

/** The type of a value before validation. */
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

/**
 * Converts a schema to JSON Schema, for models and for people who answer. Draft 7 if the library supports it, because
 * all providers do. Throws `SchemaNotConvertibleError`, or `MissingDependencyError` when a converter must be installed.
 */
export function toJsonSchema(schema: Schema): JsonObject {
  if (!isStandardSchema(schema)) return plainCopy(schema, 'JSON Schema')
  const { vendor } = schema['~standard']
  const converter = (schema['~standard'] as Partial<StandardJSONSchemaV1.Props>).jsonSchema
  if (converter) return plainCopy(convert(converter, vendor), vendor)
  if (vendor === 'valibot') return plainCopy(convertValibot(schema), vendor)
  throw new SchemaNotConvertibleError(
    vendor,
    "it has no '~standard.jsonSchema'. Upgrade the library (zod needs 4.2 or later), or pass a JSON Schema instead",
  )
}

function convert(converter: StandardJSONSchemaV1.Converter, vendor: string): object {
  try {
    return converter.input({ target: 'draft-07' })
  } catch {
    try {
      return converter.input({ target: 'draft-2020-12' })
    } catch (cause) {
      throw notRepresentable(vendor, cause)
    }
  }
}

type ValibotConverter = { toJsonSchema(schema: unknown, options: object): object }

function convertValibot(schema: StandardSchemaV1): object {
  const { toJsonSchema: convertSchema } = loadValibotConverter()
  try {
    return convertSchema(schema, { typeMode: 'input', errorMode: 'throw' })
  } catch (cause) {
    throw notRepresentable('valibot', cause)
  }
}

/** Loaded on first use and synchronously, because definitions are synchronous. */
function loadValibotConverter(): ValibotConverter {
  const packageName = '@valibot/to-json-schema'
  try {
    return createRequire(import.meta.url)(packageName) as ValibotConverter
  } catch (cause) {
    throw new MissingDependencyError(packageName, 'A valibot schema', cause)
  }
}

function notRepresentable(vendor: string, cause: unknown): SchemaNotConvertibleError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new SchemaNotConvertibleError(
    vendor,
    `${reason}. Describe it as JSON (a date as a string), or pass a JSON Schema instead`,
    { cause },
  )
}

function plainCopy(jsonSchema: object, vendor: string): JsonObject {
  try {
    return JSON.parse(JSON.stringify(jsonSchema)) as JsonObject
  } catch (cause) {
    throw new SchemaNotConvertibleError(vendor, 'it is not plain JSON', { cause })
  }
}

/**
 * The schema that a message brings, as it is stored in the log. Any process may check against it later, as against any
 * schema from outside, so a schema that would fail then is refused now. Throws `InvalidArgumentError` or
 * `SchemaTooComplexError`.
 */
export function turnSchema(output: Schema): JsonObject {
  if (!isSchema(output)) throw new InvalidArgumentError('output', 'must be a Standard Schema or a JSON Schema')
  const schema = toJsonSchema(output)
  try {
    checkOutsideSchema(schema)
    return schema
  } catch (error) {
    if (error instanceof TooComplex) throw new SchemaTooComplexError("objects against 'output'", error.message)
    if (error instanceof MalformedSchema)
      throw new InvalidArgumentError('output', `is not a JSON Schema: ${error.message}`)
    throw error
  }
}
