import { InvalidAnswerError, SchemaTooComplexError } from '../base/errors/definition-errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { answerSchema } from '../log/answer-schema.ts'
import { encode } from '../log/codec.ts'
import type { SuspensionKind } from '../log/events.ts'
import { maxArgsBytes } from './call-limits.ts'
import { normaliseValue } from './normalise-result.ts'
import type { Schema } from './schema.ts'
import type { Tool } from './tool.ts'
import { type Validation, validate, validateOutside } from './validate.ts'

export type Question = {
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
