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

type Question = {
  readonly kind: SuspensionKind
  /** Null: gone since a deploy; then the schema in the log decides. */
  readonly tool: Tool | null
  /** Of the suspension: JSON Schema of the whole answer. */
  readonly schema: Json
}

/** The answer as it is recorded: what the tool's `output` makes of it. Throws `InvalidAnswerError`, and the call still waits. */
export async function checkAnswer({ kind, tool, schema }: Question, value: unknown): Promise<Json> {
  const output = tool && 'output' in tool ? tool.output : null
  if (kind === 'elicitation' && output) return accepted(output, value)
  if (kind === 'client_exec' && output) return callResult(output, value)
  return acceptedByLog(schema, value)
}

async function callResult(output: Schema, value: unknown): Promise<Json> {
  const answer = acceptedByLog(answerSchema({}, 'client_exec'), value)
  const { ok, result } = answer as { readonly ok: boolean; readonly result: Json }
  return ok ? { ok, result: await accepted(output, result) } : answer
}

/** Edited arguments as they are recorded: as given, because `runTool` applies the schema again. Throws `InvalidAnswerError`. */
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
  // First as JSON, because that is what reaches the schema from everywhere else too.
  return answered(await validate(schema, record(value, 'answer')))
}

/** What the log says may be from another version of the code, or from no code at all. */
function acceptedByLog(schema: Json, value: unknown): Json {
  const checked = validateOutside(asSchema(schema), record(value, 'answer'))
  if (!checked.ok && checked.isTooComplex) throw new SchemaTooComplexError('the answer', checked.issues)
  return answered(checked)
}

function answered(checked: Validation<unknown>): Json {
  if (!checked.ok) throw new InvalidAnswerError('answer', checked.issues)
  return record(checked.value, 'answer')
}

function record(value: unknown, what: string): Json {
  if (value === undefined) throw new InvalidAnswerError(what, 'a value is required; null is one')
  const normalised = normaliseValue(value)
  if (!normalised.ok) throw new InvalidAnswerError(what, normalised.problem)
  return normalised.value
}

/** The log may hold `true`: anything goes. */
function asSchema(schema: Json): JsonObject {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema) ? (schema as JsonObject) : {}
}
