import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Json, JsonObject } from '../base/json.ts'
import { checkValue } from '../base/json-schema/check-value.ts'
import type { SchemaOrigin } from '../base/json-schema/compile-schema.ts'
import { at } from '../base/json-schema/issues.ts'
import { TooComplex } from '../base/json-schema/step-budget.ts'
import { errorText } from '../base/redact/error-text.ts'
import { isStandardSchema, type Schema, type SchemaOutput } from './schema.ts'

/** `issues` is one readable line that says where and what, for models and people. */
export type Validation<T> =
  | { readonly ok: true; readonly value: T }
  /** `isTooComplex`: nothing is known about the value, because it would take too many steps to find out. */
  | { readonly ok: false; readonly issues: string; readonly isTooComplex?: true }

/**
 * By a schema of the application's code. Never rejects: a schema that throws has an issue. What a JSON Schema does is bounded in steps, whatever the value;
 * but for its regular expressions, which are JavaScript's own, and for Standard Schemas, which are code.
 */
export async function validate<S extends Schema>(schema: S, value: unknown): Promise<Validation<SchemaOutput<S>>> {
  try {
    const verdict = isStandardSchema(schema)
      ? byStandard(await schema['~standard'].validate(value))
      : byJsonSchema(schema as JsonObject, value, 'code')
    return verdict as Validation<SchemaOutput<S>>
  } catch (error) {
    return unusable(error)
  }
}

/** By a JSON Schema that is not this process's own code: of a caller, of another server, of a log. Bounded in steps, whatever the schema and the value. */
export function validateOutside(schema: JsonObject, value: unknown): Validation<Json> {
  try {
    return byJsonSchema(schema, value, 'outside')
  } catch (error) {
    return unusable(error)
  }
}

const maxIssues = 10

function byStandard(result: StandardSchemaV1.Result<unknown>): Validation<unknown> {
  if (!result.issues) return { ok: true, value: result.value }
  const issues = result.issues.map(({ path = [], message }) => at(path.map(keyOf), message))
  const shown = issues.slice(0, maxIssues).join('; ')
  const more = issues.length > maxIssues ? `; and ${issues.length - maxIssues} more` : ''
  return { ok: false, issues: errorText(shown + more) }
}

function keyOf(segment: PropertyKey | StandardSchemaV1.PathSegment): PropertyKey {
  return typeof segment === 'object' ? segment.key : segment
}

function byJsonSchema(schema: JsonObject, value: unknown, origin: SchemaOrigin): Validation<Json> {
  if (value === undefined) return { ok: false, issues: 'a value is required' }
  const verdict = checkValue(schema, value as Json, origin)
  return verdict.fits ? { ok: true, value: value as Json } : { ok: false, issues: errorText(verdict.issues) }
}

function unusable(error: unknown): Validation<never> {
  if (error instanceof TooComplex) {
    return { ok: false, issues: `it could not be checked: ${error.message}`, isTooComplex: true }
  }
  return { ok: false, issues: `the schema could not be applied: ${errorText(error)}` }
}
