import { isRecord, type Json, type JsonObject, textOf } from '../base/json.ts'
import { isDataUrl, isWebUrl } from '../log/blob-ref.ts'
import type { AssistantPart, FilePart, PlainCallPart, Usage } from '../log/events.ts'

/** A part of a model's message. `GeneratedFile` has bytes that the caller must store in a blob. */
export type MessagePart = Exclude<AssistantPart, FilePart | PlainCallPart> | GeneratedFile

/** A string is a URL. */
export type GeneratedFile = Omit<FilePart, 'data'> & { readonly data: Uint8Array | string }

/**
 * A call of one of the agent's tools as the model wrote it. `input` may be any text; '' if the model gave no arguments.
 */
export type RawCall = {
  readonly callId: string
  readonly providerCallId: string
  readonly name: string
  readonly input: string
}

/** A message while it is being read. Plain data: see `MessageBuilder`. */
export type MessageDraft = {
  /** In the order in which they began. */
  readonly items: readonly DraftItem[]
  readonly finish: DraftFinish | null
}

export type DraftFinish = { readonly reason: string; readonly raw: string | null; readonly usage: Usage }

export type DraftItem = DraftBlock | DraftCall | { readonly kind: 'part'; readonly part: MessagePart }

export type DraftBlock = {
  readonly kind: 'text' | 'reasoning'
  /** The provider's id. It may repeat within the message. */
  readonly providerId: string | null
  /** Perdure's id, unique within the message. */
  readonly id: string
  readonly text: string
  readonly metadata: JsonObject | undefined
  readonly isOpen: boolean
}

export type DraftCall = {
  readonly kind: 'call'
  readonly providerId: string | null
  readonly callId: string
  readonly name: string
  readonly input: string
  readonly metadata: JsonObject | undefined
  /** Whether the model's host runs the call. */
  readonly isProviderRun: boolean
  /** False while only parts of its input have arrived. */
  readonly isComplete: boolean
}

export const emptyDraft: MessageDraft = { items: [], finish: null }

/** Whether anything has arrived that could have been shown, or that the model's host has executed. */
export function hasBegun(draft: MessageDraft): boolean {
  return draft.items.some(isSomething)
}

/** Whether the model's host has run a call. A second attempt could run it again. */
export function wasRunByHost(draft: MessageDraft): boolean {
  return draft.items.some((item) =>
    item.kind === 'part' ? item.part.type === 'provider_result' : item.kind === 'call' && item.isProviderRun,
  )
}

export function isSomething(item: DraftItem): boolean {
  if (item.kind === 'part') return true
  return item.kind === 'call' ? item.isComplete || item.input !== '' : item.text !== ''
}

/**
 * A call without its complete input is left out. So are blocks without content, unless they carry reasoning that only
 * the provider can read.
 */
export function partsOf(draft: MessageDraft): MessagePart[] {
  return draft.items.flatMap((item): MessagePart[] => {
    if (item.kind === 'part') return [item.part]
    if (item.kind === 'call') return item.isComplete ? [callPart(item)] : []
    if (item.text === '' && (item.kind === 'text' || !item.metadata)) return []
    return [{ type: item.kind, text: item.text, ...withMetadata(item.metadata) }]
  })
}

export function callsOf(draft: MessageDraft): RawCall[] {
  return draft.items.flatMap((item) => {
    if (item.kind !== 'call' || !item.isComplete || item.isProviderRun) return []
    const { callId, name, input } = item
    return [{ callId, providerCallId: item.providerId ?? callId, name, input }]
  })
}

function callPart(call: DraftCall): MessagePart {
  const { callId, name, metadata } = call
  if (!call.isProviderRun) return { type: 'call', callId, ...withMetadata(metadata) }
  const providerCallId = call.providerId ?? callId
  return { type: 'provider_call', providerCallId, name, args: parsed(call.input), ...withMetadata(metadata) }
}

/** Parsed arguments of hosted calls. Text that does not parse is kept as it is. */
function parsed(input: string): Json {
  if (input === '') return {}
  try {
    return toJson(JSON.parse(input)) ?? input
  } catch {
    return input
  }
}

export function withMetadata(metadata: JsonObject | undefined): { providerMetadata?: JsonObject } {
  return metadata ? { providerMetadata: metadata } : {}
}

/** Far deeper than any real value, yet shallow enough for the log's codec wherever it is placed in an event. */
const maxDepth = 200

/** A plain JSON copy of a provider's value. Undefined if there is none. Never throws. */
export function toJson(value: unknown): Json | undefined {
  try {
    const text = JSON.stringify(value)
    if (text === undefined) return undefined
    const copy = JSON.parse(text) as Json
    return isShallow(copy, maxDepth) ? copy : undefined
  } catch {
    return undefined
  }
}

export function toJsonObject(value: unknown): JsonObject | undefined {
  const copy = toJson(value)
  return isRecord(copy) ? (copy as JsonObject) : undefined
}

function isShallow(value: Json, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((member) => isShallow(member, depth - 1))
}

/** The `finish` part of a stream. Both specifications have the same shape. */
export function readFinish(part: { readonly [key: string]: unknown }): DraftFinish {
  const { finishReason } = part
  const { unified, raw } = isRecord(finishReason) ? finishReason : { unified: finishReason, raw: null }
  return { reason: textOf(unified) ?? 'other', raw: textOf(raw), usage: readUsage(part['usage']) }
}

export function readUsage(usage: unknown): Usage {
  if (!isRecord(usage)) return {}
  const input = totals(usage['inputTokens'])
  const output = totals(usage['outputTokens'])
  const read: { -readonly [Counter in keyof Usage]: Usage[Counter] } = {}
  const take = (counter: keyof Usage, tokens: unknown): void => {
    if (typeof tokens !== 'number' || !(tokens >= 0)) return
    // Some providers estimate, but the log counts whole tokens.
    const whole = Math.ceil(tokens)
    if (Number.isSafeInteger(whole)) read[counter] = whole
  }
  take('inputTokens', input['total'])
  take('outputTokens', output['total'])
  take('cacheReadTokens', input['cacheRead'])
  take('cacheWriteTokens', input['cacheWrite'])
  take('reasoningTokens', output['reasoning'])
  return read
}

/**
 * What one chunk of a provider's protocol tells of the usage, merged with what earlier ones told. The specification has
 * usage only at the end of a stream, and a stream that breaks has no end; providers report the input tokens at its beginning.
 */
export function readRawUsage(chunk: unknown, known: Usage): Usage {
  if (!isRecord(chunk)) return known
  const { usage = undefined } = [chunk, chunk['message'], chunk['response']].find(hasUsage) ?? {}
  if (!isRecord(usage)) return known
  const { input_tokens, prompt_tokens, output_tokens, completion_tokens } = usage
  const cached = usage['cache_read_input_tokens']
  const written = usage['cache_creation_input_tokens']
  const input = input_tokens ?? prompt_tokens
  // Anthropic counts cached tokens apart from the others; the total has both.
  const total = typeof input === 'number' ? input + count(cached) + count(written) : undefined
  return {
    ...known,
    ...readUsage({
      inputTokens: { total, cacheRead: cached, cacheWrite: written },
      outputTokens: output_tokens ?? completion_tokens,
    }),
  }
}

function hasUsage(value: unknown): value is { readonly usage: unknown } {
  return isRecord(value) && isRecord(value['usage'])
}

function count(tokens: unknown): number {
  return typeof tokens === 'number' ? tokens : 0
}

/** A bare number counts as the total. */
function totals(tokens: unknown): { readonly [key: string]: unknown } {
  return isRecord(tokens) ? tokens : { total: tokens }
}

/** A `file` part of a stream: v3 has bare bytes or base64, v4 a tagged object. Null when it is empty. */
export function generatedFile(part: { readonly [key: string]: unknown }): GeneratedFile | null {
  const { data } = part
  const content = contentOf(
    isRecord(data) && !isBare(data) ? (data['type'] === 'url' ? data['url'] : data['data']) : data,
  )
  const mediaType = mediaTypeOf(part['mediaType'])
  return content === null ? null : { type: 'file', mediaType, data: content }
}

/** Providers invent media types that they do not know. */
function mediaTypeOf(given: unknown): string {
  const text = textOf(given) ?? ''
  return /^[\x20-\x7e]{1,255}$/.test(text) ? text : 'application/octet-stream'
}

function isBare(data: object): boolean {
  return data instanceof Uint8Array || data instanceof URL
}

function contentOf(data: unknown): Uint8Array | string | null {
  // A copy, because the provider may reuse its buffer.
  if (data instanceof Uint8Array) return data.length > 0 ? new Uint8Array(data) : null
  const text = data instanceof URL ? data.href : data
  if (typeof text !== 'string') return null
  if (isDataUrl(text)) return bytesOf(text.slice(text.indexOf(',') + 1))
  // Base64 contains no colon, so any other URL that a browser would open is left out.
  if (text.includes(':')) return isWebUrl(text) ? text : null
  return bytesOf(text)
}

function bytesOf(base64: string): Uint8Array | null {
  const bytes = Buffer.from(base64, 'base64')
  return bytes.length > 0 ? new Uint8Array(bytes) : null
}
