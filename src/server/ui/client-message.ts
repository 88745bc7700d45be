import { InvalidRequestError } from '../../base/errors/server-errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { InputPart } from '../../engine/turn-options.ts'

/** A message as the page sent it. Must not be trusted: the log decides. */
export type ClientMessage = {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly ClientPart[]
  /** What the application keeps with a message. Undefined: nothing. */
  readonly metadata?: JsonObject
}

export type ClientPart = JsonObject & { readonly type: string }

export type ClientToolPart = ClientPart & {
  readonly toolCallId: string
  readonly state: string
  readonly approval: { readonly id: string; readonly approved: boolean | null; readonly reason?: string } | null
}

const maxParts = 10_000

/** Checks each part once, because a body may have many. */
export function readClientMessage(value: Json): ClientMessage {
  const { id, role, parts, metadata } = Object(value) as { readonly [key: string]: Json | undefined }
  if (typeof id !== 'string' || id === '') throw refused('id', 'it must be a non-empty string')
  if (role !== 'system' && role !== 'user' && role !== 'assistant')
    throw refused('role', "it must be 'system', 'user' or 'assistant'")
  if (!Array.isArray(parts) || parts.length > maxParts)
    throw refused('parts', `it must be a list of at most ${maxParts} parts`)
  if (!parts.every((part) => typeof (Object(part) as { type?: unknown }).type === 'string'))
    throw refused('parts', 'each must have a type')
  const isKept = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)
  return { id, role, parts: parts as readonly ClientPart[], ...(isKept ? { metadata: metadata as JsonObject } : {}) }
}

function refused(member: string, problem: string): InvalidRequestError {
  return new InvalidRequestError('body', `'${member}' of the last message: ${problem}`)
}

/** The tool call in a part, for any tool name. Null for other parts. */
export function toolPart(part: ClientPart): ClientToolPart | null {
  const { type, toolCallId, state, approval } = part
  if (!type.startsWith('tool-') && type !== 'dynamic-tool') return null
  if (typeof toolCallId !== 'string' || typeof state !== 'string') return null
  return { ...part, toolCallId, state, approval: approvalOf(approval) } as ClientToolPart
}

/** The `data` of a user's message: what the request brought, and the message's metadata as its member. */
export function dataOf({ metadata }: ClientMessage, data: JsonObject | undefined): { readonly data?: JsonObject } {
  if (metadata === undefined) return data === undefined ? {} : { data }
  return { data: { ...data, metadata } }
}

/** The text and files of a user's message. Other parts are ignored. */
export function inputOf({ parts }: ClientMessage): InputPart[] {
  return parts.flatMap((part): InputPart[] => {
    if (part.type === 'text' && typeof part['text'] === 'string') return [{ type: 'text', text: part['text'] }]
    const { mediaType, url, filename } = part
    if (part.type !== 'file' || typeof mediaType !== 'string' || typeof url !== 'string') return []
    return [{ type: 'file', mediaType, data: url, ...(typeof filename === 'string' ? { filename } : {}) }]
  })
}

function approvalOf(approval: ClientPart[string] | undefined): ClientToolPart['approval'] {
  const { id, approved, reason } = Object(approval) as JsonObject
  if (typeof id !== 'string') return null
  return {
    id,
    approved: typeof approved === 'boolean' ? approved : null,
    ...(typeof reason === 'string' && reason !== '' ? { reason } : {}),
  }
}
