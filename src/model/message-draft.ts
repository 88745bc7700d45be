import type { Json, JsonObject } from '../base/json.ts'
import type { AssistantPart, FilePart, PlainCallPart, Usage } from '../log/events.ts'
import { toJson } from './to-json.ts'

/** A part of a message as it came from the model; `GeneratedFile` has the bytes that the caller is to put into a blob. */
export type MessagePart = Exclude<AssistantPart, FilePart | PlainCallPart> | GeneratedFile

/** A string is a URL. */
export type GeneratedFile = Omit<FilePart, 'data'> & { readonly data: Uint8Array | string }

/** A call of one of our tools, as the model wrote it: `input` may be anything, also '' where the model gave no arguments. */
export type RawCall = {
  readonly callId: string
  readonly providerCallId: string
  readonly name: string
  readonly input: string
}

/** A message while it is read. Plain data: see `MessageBuilder`. */
export type MessageDraft = {
  /** In the order they began in. */
  readonly items: readonly DraftItem[]
  readonly finish: DraftFinish | null
}

export type DraftFinish = { readonly reason: string; readonly raw: string | null; readonly usage: Usage }

export type DraftItem = DraftBlock | DraftCall | { readonly kind: 'part'; readonly part: MessagePart }

export type DraftBlock = {
  readonly kind: 'text' | 'reasoning'
  /** The provider's, which may come again in the same message. */
  readonly providerId: string | null
  /** Ours, unique in the message. */
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
  /** The model's host runs it. */
  readonly isProviderRun: boolean
  /** False while only pieces of its input have come. */
  readonly isComplete: boolean
}

export const emptyDraft: MessageDraft = { items: [], finish: null }

/** Whether anything has come that a person could have been shown or that the model's host has done. Before that, trying again is free. */
export function hasBegun(draft: MessageDraft): boolean {
  return draft.items.some(isSomething)
}

export function isSomething(item: DraftItem): boolean {
  if (item.kind === 'part') return true
  return item.kind === 'call' ? item.isComplete || item.input !== '' : item.text !== ''
}

/** A call whose input did not come whole is not one. Blocks without content are left out, unless they carry reasoning only the provider reads. */
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

/** Arguments nobody here acts on: what does not parse is kept as it is. */
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
