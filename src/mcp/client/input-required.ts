import type { Json, JsonObject } from '../../base/json.ts'
import type { ToolAnswer, ToolQuestionAttributes } from '../../define/tool-question.ts'

/** What a server asks for before it continues a call. */
export type InputRequired = {
  readonly inputRequests?: { readonly [key: string]: unknown }
  readonly requestState?: string
}

/** What is kept in the log until the answer comes. */
type Kept = { readonly requestState: string | null; readonly asked: readonly Asked[] }
type Asked = { readonly key: string; readonly mode: 'form' | 'url' }

type Question = Pick<Required<ToolQuestionAttributes>, 'prompt' | 'schema' | 'state'>

/** The members of a call that continues an earlier one. */
export type Continuation = {
  readonly requestState?: string
  readonly inputResponses?: { readonly [key: string]: unknown }
}

const mostRequests = 10
const maxMessage = 4_000
const declined: JsonObject = {
  type: 'object',
  title: 'Decline',
  properties: { declined: { enum: [true] } },
  required: ['declined'],
  additionalProperties: false,
}

export function isInputRequired(result: unknown): result is InputRequired {
  return Object(result).resultType === 'input_required'
}

/** The question for a person; null where the server only wants to be asked again. Throws where it asks for what no person can give. */
export function questionOf({ inputRequests = {}, requestState }: InputRequired, server: string): Question | null {
  const entries = Object.entries(inputRequests)
  if (entries.length === 0) return null
  if (entries.length > mostRequests)
    throw new Error(`it asks for ${entries.length} things at once; the limit is ${mostRequests}`)
  const requests = entries.map(([key, request]) => readRequest(key, request))
  const kept: Kept = { requestState: requestState ?? null, asked: requests.map(({ key, mode }) => ({ key, mode })) }
  const [only, ...more] = requests
  const state = kept as unknown as Json
  if (only && more.length === 0) return { prompt: `${server} asks: ${only.message}`, schema: only.schema, state }
  const properties = Object.fromEntries(
    requests.map(({ key, schema, message }) => [key, { ...schema, description: message }]),
  )
  return {
    prompt: `${server} asks:\n${requests.map(({ message }) => `- ${message}`).join('\n')}`,
    schema: { type: 'object', properties, required: requests.map(({ key }) => key), additionalProperties: false },
    state,
  }
}

/** What the server gets back. */
export function continuationOf({ value, state }: ToolAnswer): Continuation {
  const { requestState, asked } = state as unknown as Kept
  const answers = asked.length === 1 ? { [asked[0]!.key]: value } : (value as JsonObject)
  const inputResponses = Object.fromEntries(asked.map(({ key, mode }) => [key, responseTo(mode, answers[key] ?? null)]))
  return { inputResponses, ...(requestState === null ? {} : { requestState }) }
}

function responseTo(mode: Asked['mode'], answer: Json): JsonObject {
  const isDeclined = Object(answer).declined === true && Object.keys(Object(answer)).length === 1
  if (isDeclined) return { action: 'decline' }
  return mode === 'url' ? { action: 'accept' } : { action: 'accept', content: answer }
}

type Request = Asked & { readonly message: string; readonly schema: JsonObject }

function readRequest(key: string, request: unknown): Request {
  const { method, params } = Object(request) as { method?: unknown; params?: unknown }
  if (method !== 'elicitation/create')
    throw new Error(`it asks for '${String(method).slice(0, 60)}', which is not supported here`)
  const { mode = 'form', message, requestedSchema, url } = Object(params) as { readonly [key: string]: unknown }
  const text = typeof message === 'string' ? message.slice(0, maxMessage).toWellFormed() : 'an answer is needed'
  if (mode === 'url') {
    const done = { type: 'object', title: 'Done', properties: { done: { enum: [true] } }, required: ['done'] }
    return { key, mode, message: `${text} (at ${webUrl(url)})`, schema: { anyOf: [done, declined] } }
  }
  if (typeof requestedSchema !== 'object' || requestedSchema === null)
    throw new Error('it asks without a schema of the answer')
  return { key, mode: 'form', message: text, schema: { anyOf: [requestedSchema as JsonObject, declined] } }
}

/** A person may click on it. */
function webUrl(url: unknown): string {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : null
  if (parsed?.protocol === 'https:' || parsed?.protocol === 'http:') return parsed.href.slice(0, 2_000)
  throw new Error('it asks a person to go to an address that is not on the web')
}
