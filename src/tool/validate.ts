import { type OutputUnit, Validator } from '@cfworker/json-schema'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { errorText } from '../redact/error-text.ts'
import { isStandardSchema, type Schema, type SchemaOutput } from './schema.ts'

/** `issues` is one readable line that says where and what, for models and people. */
export type Validation<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly issues: string }

/** Never rejects: a schema that throws has an issue. */
export async function validate<S extends Schema>(schema: S, value: unknown): Promise<Validation<SchemaOutput<S>>> {
  try {
    const verdict = isStandardSchema(schema)
      ? byStandard(await schema['~standard'].validate(value))
      : byJsonSchema(schema, value)
    return verdict as Validation<SchemaOutput<S>>
  } catch (error) {
    return { ok: false, issues: `the schema could not be applied: ${errorText(error)}` }
  }
}

const maxIssues = 10

function byStandard(result: StandardSchemaV1.Result<unknown>): Validation<unknown> {
  if (!result.issues) return { ok: true, value: result.value }
  return refused(result.issues.map(({ path = [], message }) => at(path.map(keyOf), message)))
}

function keyOf(segment: PropertyKey | StandardSchemaV1.PathSegment): PropertyKey {
  return typeof segment === 'object' ? segment.key : segment
}

const validators = new WeakMap<object, Validator>()

function byJsonSchema(schema: object | boolean, value: unknown): Validation<unknown> {
  // A missing value is no JSON, and the validator throws on it.
  if (value === undefined) return refused(['a value is required'])
  const { valid, errors } = validatorOf(schema).validate(value)
  if (valid) return { ok: true, value }
  // Those that only say that something inside is wrong.
  const inner = errors.filter(
    ({ keyword }) => !['properties', 'items', 'prefixItems', '$ref', 'allOf'].includes(keyword),
  )
  return refused((inner.length > 0 ? inner : errors).map(toIssue))
}

function validatorOf(schema: object | boolean): Validator {
  const known = typeof schema === 'object' ? validators.get(schema) : undefined
  if (known) return known
  const isOld = typeof schema === 'object' && '$schema' in schema && /draft-0[467]/.test(String(schema.$schema))
  // It writes into the schema it is given.
  const validator = new Validator(structuredClone(schema), isOld ? '7' : '2020-12', false)
  if (typeof schema === 'object') validators.set(schema, validator)
  return validator
}

function toIssue({ instanceLocation, error }: OutputUnit): string {
  const keys = instanceLocation
    .split('/')
    .slice(1)
    .map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'))
  return at(keys, error.replace(/\.$/, ''))
}

function at(path: readonly PropertyKey[], message: string): string {
  let place = ''
  for (const key of path) {
    const isIndex = typeof key === 'number' || (typeof key === 'string' && /^\d+$/.test(key))
    place += isIndex ? `[${String(key)}]` : `${place === '' ? '' : '.'}${String(key)}`
  }
  return place === '' ? message : `${place}: ${message}`
}

function refused(issues: readonly string[]): Validation<never> {
  const shown = issues.slice(0, maxIssues).join('; ')
  const more = issues.length > maxIssues ? `; and ${issues.length - maxIssues} more` : ''
  return { ok: false, issues: errorText(shown + more) }
}
