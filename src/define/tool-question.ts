import { readMembers } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import { checkOutsideSchema } from '../base/json-schema/compile-schema.ts'
import { errorText } from '../base/redact/redactor.ts'
import { encode } from '../log/codec.ts'
import type { ToolQuestion } from '../log/settle.ts'
import { checkWhole } from '../store/checks.ts'
import { maxPromptBytes, maxSchemaBytes, normaliseValue } from './normalise-result.ts'

/** A question that a server tool asks a person. */
export type ToolQuestionAttributes = {
  /** What the person sees. */
  readonly prompt: Json
  /** The JSON Schema of the answer. Default: anything. */
  readonly schema?: JsonObject
  /** What the tool gets back with the answer. Default: null. */
  readonly state?: Json
  /** How long the person has. Default: the tool's `expiresInMs`. Null: no limit. */
  readonly expiresInMs?: number | null
}

/** What `turn.ask` returns, for `run` to return: the call waits. */
export type AskedByTool = { readonly question: ToolQuestion }

/** An answer to a question of a server tool: `round` counts the suspensions of the call, `who` answered. */
export type ToolAnswer = { readonly round: number; readonly value: Json; readonly state: Json; readonly who: string }

/** The most questions that one call may ask: a tool that always asks must end some time. */
export const mostQuestions = 20

const brand = Symbol.for('perdure.question')

/** Checks a question. Throws `InvalidArgumentError` for one that cannot be recorded, or whose answers could not be checked. */
export function askedByTool(attributes: ToolQuestionAttributes): AskedByTool {
  const known = ['prompt', 'schema', 'state', 'expiresInMs'] as const
  const given = readMembers<ToolQuestionAttributes, (typeof known)[number]>('question', attributes, known)
  const { schema = {}, state = null, expiresInMs } = given
  if (expiresInMs !== undefined && expiresInMs !== null) checkWhole('expiresInMs', expiresInMs, 1)
  const prompt = recorded('prompt', given.prompt ?? null, maxPromptBytes)
  const question = {
    prompt,
    schema: recorded('schema', schema, maxSchemaBytes),
    state: recorded('state', state, maxPromptBytes),
    ...(expiresInMs === undefined ? {} : { expiresInMs }),
  }
  try {
    checkOutsideSchema(question.schema as JsonObject)
  } catch (error) {
    throw new InvalidArgumentError('schema', `cannot be used to check answers: ${errorText(error)}`)
  }
  return Object.freeze(Object.defineProperty({ question }, brand, { value: true }))
}

/** Whether a value was made by `turn.ask`. */
export function isAskedByTool(value: unknown): value is AskedByTool {
  return typeof value === 'object' && value !== null && brand in value
}

function recorded(name: string, value: unknown, maxBytes: number): Json {
  const normalised = normaliseValue(value)
  if (!normalised.ok) throw new InvalidArgumentError(name, normalised.problem)
  const bytes = Buffer.byteLength(encode(normalised.value))
  if (bytes > maxBytes) throw new InvalidArgumentError(name, `has ${bytes} bytes; the limit is ${maxBytes}`)
  return normalised.value
}
