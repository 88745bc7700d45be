import { withWebUrl } from '../log/file-url.ts'
import type { JsonObject } from '../log/json.ts'
import { generatedFile } from './generated-file.ts'
import type { DraftBlock, DraftCall, DraftItem, MessageDraft, MessagePart } from './message-draft.ts'
import { withMetadata } from './message-draft.ts'
import { readFinish } from './read-finish.ts'
import type { StreamChunk } from './stream-chunk.ts'
import { toJson, toJsonObject } from './to-json.ts'
import { isRecord, textOf } from './untrusted.ts'

export type BuildContext = {
  readonly newCallId: () => string
  /** Null: the chunk is dropped. What it makes of text is the text of the message; reasoning and input stay as they were signed and meant. */
  readonly transform: (chunk: StreamChunk) => StreamChunk | null
}

export type Added = { readonly draft: MessageDraft; readonly chunk: StreamChunk | null }

type StreamPart = { readonly [key: string]: unknown }

/**
 * Adds one part of a model's stream (v3 or v4) to the message. Tolerates what a provider should not send: a delta without a start, a
 * missing or repeated id. What has no place in a message (`raw`, `ping`, `custom`, `reasoning-file`, anything unknown) changes nothing.
 */
export function addStreamPart(draft: MessageDraft, part: unknown, context: BuildContext): Added {
  if (!isRecord(part)) return unseen(draft)
  switch (part['type']) {
    case 'text-start':
      return unseen(openBlock(draft, 'text', part).draft)
    case 'text-delta':
      return addDelta(draft, 'text', part, context)
    case 'text-end':
      return unseen(closeBlock(draft, 'text', part))
    case 'reasoning-start':
      return unseen(openBlock(draft, 'reasoning', part).draft)
    case 'reasoning-delta':
      return addDelta(draft, 'reasoning', part, context)
    case 'reasoning-end':
      return unseen(closeBlock(draft, 'reasoning', part))
    case 'tool-input-start':
      return unseen(startCall(draft, part, context).draft)
    case 'tool-input-delta':
      return addInput(draft, part, context)
    case 'tool-input-end':
      return unseen(endInput(draft, part))
    case 'tool-call':
      return completeCall(draft, part, context)
    case 'tool-result':
      return unseen(addResult(draft, part))
    case 'source': {
      const { type, ...source } = toJsonObject(part) ?? {}
      return unseen(type ? pushPart(draft, { type: 'source', source: withWebUrl(source) }) : draft)
    }
    case 'file': {
      const file = generatedFile(part)
      return unseen(file ? pushPart(draft, file) : draft)
    }
    case 'finish':
      return unseen({ ...draft, finish: readFinish(part) })
    default:
      return unseen(draft)
  }
}

type Opened<Item> = { readonly draft: MessageDraft; readonly index: number; readonly item: Item }

/** The block the part belongs to, begun here if there is none. A part without an id belongs to the newest open one. */
function openBlock(draft: MessageDraft, kind: DraftBlock['kind'], part: StreamPart): Opened<DraftBlock> {
  const providerId = textOf(part['id'])
  const index = draft.items.findLastIndex(
    (item) => item.kind === kind && item.isOpen && (providerId === null || item.providerId === providerId),
  )
  const known = draft.items[index] as DraftBlock | undefined
  if (known) return replaced(draft, index, { ...known, metadata: merged(known.metadata, part) })
  const id = `${kind}-${draft.items.filter((item) => item.kind === kind).length}`
  return pushed(draft, { kind, providerId, id, text: '', metadata: merged(undefined, part), isOpen: true })
}

function addDelta(draft: MessageDraft, kind: DraftBlock['kind'], part: StreamPart, context: BuildContext): Added {
  const { delta } = part
  // Also an empty delta opens its block: it may carry the signature.
  if (typeof delta !== 'string') return unseen(draft)
  const opened = openBlock(draft, kind, part)
  const block = opened.item
  const chunk = delta === '' ? null : context.transform({ type: `${kind}_delta`, id: block.id, delta })
  const text = block.text + (kind === 'text' ? (chunk?.delta ?? '') : delta)
  return { draft: replaced(opened.draft, opened.index, { ...block, text }).draft, chunk }
}

function closeBlock(draft: MessageDraft, kind: DraftBlock['kind'], part: StreamPart): MessageDraft {
  const opened = openBlock(draft, kind, part)
  return replaced(opened.draft, opened.index, { ...opened.item, isOpen: false }).draft
}

function findOpenCall(draft: MessageDraft, providerId: string | null): number {
  return draft.items.findLastIndex((item) => item.kind === 'call' && !item.isComplete && item.providerId === providerId)
}

/** The call the part belongs to, begun here if there is none. */
function startCall(draft: MessageDraft, part: StreamPart, { newCallId }: BuildContext): Opened<DraftCall> {
  const providerId = textOf(part['toolCallId'] ?? part['id'])
  const index = findOpenCall(draft, providerId)
  const known = draft.items[index] as DraftCall | undefined
  const isProviderRun = part['providerExecuted'] === true || known?.isProviderRun === true
  const name = textOf(part['toolName']) ?? known?.name ?? ''
  const metadata = merged(known?.metadata, part)
  if (known) return replaced(draft, index, { ...known, name, isProviderRun, metadata })
  const begun = { kind: 'call', providerId, callId: newCallId(), input: '', isComplete: false } as const
  return pushed(draft, { ...begun, name, isProviderRun, metadata })
}

/** Input whose call was not announced is left out: the call itself brings all of it. */
function addInput(draft: MessageDraft, part: StreamPart, context: BuildContext): Added {
  const { delta } = part
  const index = findOpenCall(draft, textOf(part['id']))
  const call = draft.items[index] as DraftCall | undefined
  if (!call || typeof delta !== 'string') return unseen(draft)
  const longer = { ...call, input: call.input + delta, metadata: merged(call.metadata, part) }
  return { draft: replaced(draft, index, longer).draft, chunk: inputChunk(call, delta, context) }
}

function endInput(draft: MessageDraft, part: StreamPart): MessageDraft {
  const index = findOpenCall(draft, textOf(part['id']))
  const call = draft.items[index] as DraftCall | undefined
  return call ? replaced(draft, index, { ...call, metadata: merged(call.metadata, part) }).draft : draft
}

function completeCall(draft: MessageDraft, part: StreamPart, context: BuildContext): Added {
  if (isRepeated(draft, part)) return unseen(draft)
  const opened = startCall(draft, part, context)
  const call = opened.item
  const input = inputOf(part) ?? call.input
  const chunk = call.input === '' ? inputChunk(call, input, context) : null
  return { draft: replaced(opened.draft, opened.index, { ...call, input, isComplete: true }).draft, chunk }
}

/** The same call sent twice. Another call under an id that was used is a call of its own. */
function isRepeated(draft: MessageDraft, part: StreamPart): boolean {
  const providerId = textOf(part['toolCallId'])
  if (providerId === null || findOpenCall(draft, providerId) >= 0) return false
  return draft.items.some(
    (item) =>
      item.kind === 'call' &&
      item.providerId === providerId &&
      item.name === part['toolName'] &&
      item.input === (inputOf(part) ?? ''),
  )
}

function inputOf(part: StreamPart): string | null {
  const { input } = part
  if (typeof input === 'string') return input
  const copy = toJson(input)
  return copy === undefined ? null : JSON.stringify(copy)
}

function inputChunk(call: DraftCall, delta: string, context: BuildContext): StreamChunk | null {
  if (call.isProviderRun || delta === '') return null
  return context.transform({ type: 'tool_input_delta', callId: call.callId, name: call.name, delta })
}

/** A later result of a call replaces the one before, as a preview is replaced. One for a call of ours has no place: we run those. */
function addResult(draft: MessageDraft, part: StreamPart): MessageDraft {
  const providerCallId = textOf(part['toolCallId'])
  const call = draft.items.findLast(
    (item): item is DraftCall => item.kind === 'call' && item.providerId === providerCallId,
  )
  if (providerCallId === null || call?.isProviderRun === false) return draft
  const result: MessagePart = {
    type: 'provider_result',
    providerCallId,
    name: textOf(part['toolName']) ?? call?.name ?? '',
    result: toJson(part['result']) ?? null,
    ...(part['isError'] === true ? { isError: true } : {}),
    ...withMetadata(merged(undefined, part)),
  }
  const index = draft.items.findIndex(
    (item) =>
      item.kind === 'part' && item.part.type === 'provider_result' && item.part.providerCallId === providerCallId,
  )
  return index < 0 ? pushPart(draft, result) : replaced(draft, index, { kind: 'part', part: result }).draft
}

/** Each provider's own keys are merged: an id may come at the start and the signature at the end. */
function merged(known: JsonObject | undefined, part: StreamPart): JsonObject | undefined {
  const added = toJsonObject(part['providerMetadata'])
  if (!known || !added) return added ?? known
  const members = Object.entries(added).map(([provider, value]) => {
    const before = known[provider]
    return [provider, isRecord(before) && isRecord(value) ? { ...before, ...value } : value]
  })
  return { ...known, ...Object.fromEntries(members) }
}

function pushPart(draft: MessageDraft, part: MessagePart): MessageDraft {
  return pushed(draft, { kind: 'part', part }).draft
}

function pushed<Item extends DraftItem>(draft: MessageDraft, item: Item): Opened<Item> {
  return { draft: { ...draft, items: [...draft.items, item] }, index: draft.items.length, item }
}

function replaced<Item extends DraftItem>(draft: MessageDraft, index: number, item: Item): Opened<Item> {
  return { draft: { ...draft, items: draft.items.with(index, item) }, index, item }
}

function unseen(draft: MessageDraft): Added {
  return { draft, chunk: null }
}
