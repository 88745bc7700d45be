import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidAnswerError, SchemaTooComplexError } from '../base/errors/definition-errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { checkValue, type SchemaOrigin } from '../base/json-schema/compile-schema.ts'
import { at } from '../base/json-schema/issues.ts'
import { TooComplex } from '../base/json-schema/step-budget.ts'
import { errorText } from '../base/redact/redactor.ts'
import { encode } from '../log/codec.ts'
import type { SuspensionKind } from '../log/events.ts'
import { answerSchema } from '../log/next-step.ts'
import { maxArgsBytes, normaliseValue } from './normalise-result.ts'
import { isStandardSchema, type Schema, type SchemaOutput } from './schema.ts'
import type { Tool } from './tool.ts'

/** `issues` is one readable line that says where and what, for models and people. */
export type Validation<T> =
  | { readonly ok: true; readonly value: T }
  /** `isTooComplex`: the check was stopped, so nothing is known about the value. */
  | { readonly ok: false; readonly issues: string; readonly isTooComplex?: true }

/**
 * Validates against a schema of the application's code. Never rejects: an exception becomes an issue. A JSON Schema
 * takes a bounded number of steps, except for its regular expressions, which are JavaScript's own. Standard Schemas are
 * code and unbounded.
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

/**
 * Validates against a JSON Schema from outside: from a caller, another server or a log. Takes a bounded number of
 * steps, whatever the schema and the value.
 */
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

type Question = {
  readonly kind: SuspensionKind
  /** Null: removed by a deploy. Then the schema in the log decides. */
  readonly tool: Tool | null
  /** The schema of the whole answer, from the suspension. */
  readonly schema: Json
}

/**
 * The answer as it is recorded: the output of the tool's schema. Throws `InvalidAnswerError`; then the call still
 * waits.
 */
export async function checkAnswer({ kind, tool, schema }: Question, value: unknown): Promise<Json> {
  const output = tool && 'output' in tool ? tool.output : null
  const isRecorded = tool?.executor === 'human' && tool.outputOf !== null
  if (kind === 'elicitation' && output && !isRecorded) return accepted(output, value)
  if (kind === 'client_exec' && output) return callResult(output, value)
  return acceptedByLog(schema, value)
}

async function callResult(output: Schema, value: unknown): Promise<Json> {
  const answer = acceptedByLog(answerSchema({}, 'client_exec'), value)
  const { ok, result } = answer as { readonly ok: boolean; readonly result: Json }
  return ok ? { ok, result: await accepted(output, result) } : answer
}

/**
 * Edited arguments as they are recorded: unchanged, because `runTool` applies the schema again. Throws
 * `InvalidAnswerError`.
 */
export async function checkEditedArgs(tool: Tool | null, args: unknown): Promise<Json> {
  const recorded = record(args, 'edited arguments')
  if (Buffer.byteLength(encode(recorded)) > maxArgsBytes) {
    throw new InvalidAnswerError('edited arguments', `they may have at most ${maxArgsBytes} bytes`)
  }
  if (!tool || tool.executor === 'provider') return recorded
  const checked = await validate(tool.input, recorded)
  if (!checked.ok) throw new InvalidAnswerError('edited arguments', checked.issues)
  return recorded
}

async function accepted(schema: Schema, value: unknown): Promise<Json> {
  // Converted to JSON first, because every other source also passes JSON to the schema.
  return answered(await validate(schema, record(value, 'answer')))
}

/** The schema in the log may come from another version of the code, or from no code at all. */
export function acceptedByLog(schema: Json, value: unknown): Json {
  const checked = validateOutside(asSchema(schema), record(value, 'answer'))
  if (!checked.ok && checked.isTooComplex) throw new SchemaTooComplexError('the answer', checked.issues)
  return answered(checked)
}

function answered(checked: Validation<unknown>): Json {
  if (!checked.ok) throw new InvalidAnswerError('answer', checked.issues)
  return record(checked.value, 'answer')
}

function record(value: unknown, what: string): Json {
  if (value === undefined) throw new InvalidAnswerError(what, 'a value is required; null is allowed')
  const normalised = normaliseValue(value)
  if (!normalised.ok) throw new InvalidAnswerError(what, normalised.problem)
  return normalised.value
}

/** The log may have `true`, which accepts everything. */
function asSchema(schema: Json): JsonObject {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema) ? (schema as JsonObject) : {}
}
