import { InvalidRequestError } from '../../base/errors/server-errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { InputPart } from '../../engine/turn-options.ts'

/** The body of a run, as the client sent it. Its history, state and tools are claims: the log and the agent decide. */
export type RunInput = {
  readonly threadId: string
  readonly runId: string
  readonly messages: readonly ClaimedMessage[]
  readonly resume?: readonly ResumeEntry[]
  readonly forwardedProps?: Json
}

/** A message in the client's history. Must not be trusted. */
export type ClaimedMessage = JsonObject & { readonly id: string; readonly role: string }

export type ResumeEntry = {
  readonly interruptId: string
  readonly status: 'resolved' | 'cancelled'
  readonly payload?: Json
}

/** The schema of one message: what the server looks at in all of them. */
export const messageSchema: JsonObject = {
  type: 'object',
  properties: { id: { type: 'string', minLength: 1 }, role: { type: 'string', minLength: 1 } },
  required: ['id', 'role'],
}

/** What a person says in a user message. */
export function inputOf({ content }: ClaimedMessage): InputPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw refused('its content must be text or a list of parts')
  return content.map((part) => inputPart(Object(part) as JsonObject))
}

function inputPart({ type, text, source }: JsonObject): InputPart {
  if (type === 'text' && typeof text === 'string') return { type, text }
  if (type !== 'image' && type !== 'audio' && type !== 'video' && type !== 'document') {
    throw refused('each part must be text, image, audio, video or document')
  }
  const { type: kind, value, mimeType } = Object(source) as JsonObject
  if (typeof value !== 'string' || (kind !== 'url' && kind !== 'data')) {
    throw refused(`the source of its ${type} must be { type: 'data' | 'url', value, mimeType }`)
  }
  if (typeof mimeType !== 'string') throw refused(`the source of its ${type} needs a mimeType`)
  const data = kind === 'url' ? value : `data:${mimeType};base64,${value}`
  return { type: 'file', mediaType: mimeType, data }
}

function refused(problem: string): InvalidRequestError {
  return new InvalidRequestError('body', `the newest user message: ${problem}`)
}

/** The results of client tools, which the client puts after the message that made the calls. */
export function claimedResults(messages: readonly ClaimedMessage[]): ClaimedMessage[] {
  const last = messages.findLastIndex(({ role }) => role !== 'tool')
  return messages.slice(last + 1)
}

/** Recorded with the message as `turn.data`. */
export function dataOf({ forwardedProps }: RunInput): { readonly data?: Json } {
  const isNothing = forwardedProps === undefined || forwardedProps === null
  const isEmpty = typeof forwardedProps === 'object' && Object.keys(forwardedProps ?? {}).length === 0
  return isNothing || isEmpty ? {} : { data: forwardedProps }
}
