import { createRequire } from 'node:module'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { SchemaNotConvertibleError } from '../base/errors/definition-errors.ts'
import { MissingDependencyError } from '../base/errors/store-errors.ts'
import type { JsonObject } from '../base/json.ts'
import { isStandardSchema, type Schema } from './schema.ts'

/**
 * What a schema accepts, as JSON Schema for models and for those who answer: draft 7 where the library knows it, because all providers do.
 * Throws `SchemaNotConvertibleError`, or `MissingDependencyError` when a converter has to be installed.
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

/** Loaded when used, and at once: definitions are synchronous. */
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
    `${reason}. Describe it by what JSON can hold (a date as a string), or pass a JSON Schema instead`,
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
