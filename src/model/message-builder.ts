import { isRecord, type JsonObject, textOf } from '../base/json.ts'
import type { StreamChunk } from '../define/language-model.ts'
import { withWebUrl } from '../log/blob-ref.ts'
import {
  type DraftBlock,
  type DraftCall,
  type DraftFinish,
  type DraftItem,
  generatedFile,
  isSomething,
  type MessageDraft,
  type MessagePart,
  readFinish,
  toJson,
  toJsonObject,
  withMetadata,
} from './message-draft.ts'

export type BuildContext = {
  readonly newCallId: () => string
  /**
   * Null drops the chunk. Transformed text becomes the text of the message; reasoning and tool input stay unchanged,
   * because they are signed or executed.
   */
  readonly transform: (chunk: StreamChunk) => StreamChunk | null
}

type StreamPart = { readonly [key: string]: unknown }

type BlockKind = DraftBlock['kind']

/** Mutable until it is in the draft. */
type Own<Item> = { -readonly [Key in keyof Item]: Item[Key] }

/**
 * Builds a message from the parts of a model's stream (v3 or v4). Tolerates what a provider should not send: a delta
 * without a start, a missing or repeated id. Parts that do not belong in a message (`raw`, `ping`, `custom`,
 * `reasoning-file`, unknown ones) are ignored. The cost of a part does not depend on how many came before it.
 */
export class MessageBuilder {
  readonly #context: BuildContext
  readonly #items: DraftItem[] = []
  /** Positions of items that may still be open, by kind and id, newest last. */
  readonly #open = new Map<string, number[]>()
  readonly #blocks = { text: 0, reasoning: 0 }
  readonly #newestCall = new Map<string, number>()
  /** The inputs of complete calls, by id and name. */
  readonly #inputs = new Map<string, Set<string>>()
  readonly #results = new Map<string, number>()
  #hasBegun = false
  #finish: DraftFinish | null = null

  constructor(context: BuildContext) {
    this.#context = context
  }

  /** The message so far. */
  get draft(): MessageDraft {
    return { items: this.#items, finish: this.#finish }
  }

  /** Like `hasBegun` of the draft, without building it. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Returns the chunk to show, if any. If the transformer throws, so does this, and the part has no effect. */
  add(part: unknown): StreamChunk | null {
    if (!isRecord(part)) return null
    switch (part['type']) {
      case 'text-start':
        return this.#openBlock('text', part)
      case 'text-delta':
        return this.#addDelta('text', part)
      case 'text-end':
        return this.#closeBlock('text', part)
      case 'reasoning-start':
        return this.#openBlock('reasoning', part)
      case 'reasoning-delta':
        return this.#addDelta('reasoning', part)
      case 'reasoning-end':
        return this.#closeBlock('reasoning', part)
      case 'tool-input-start':
        return this.#startCall(part)
      case 'tool-input-delta':
        return this.#addInput(part)
      case 'tool-input-end':
        return this.#endInput(part)
      case 'tool-call':
        return this.#completeCall(part)
      case 'tool-result':
        return this.#addResult(part)
      case 'source': {
        const { type, ...source } = toJsonObject(part) ?? {}
        return type ? this.#push({ kind: 'part', part: { type: 'source', source: withWebUrl(source) } }) : null
      }
      case 'file': {
        const file = generatedFile(part)
        return file ? this.#push({ kind: 'part', part: file }) : null
      }
      case 'finish':
        this.#finish = readFinish(part)
        return null
      default:
        return null
    }
  }

  #openBlock(kind: BlockKind, part: StreamPart): null {
    const { index, block } = this.#block(kind, part)
    return this.#put(index, block)
  }

  #addDelta(kind: BlockKind, part: StreamPart): StreamChunk | null {
    const { delta } = part
    // Even an empty delta opens its block: it may carry the signature.
    if (typeof delta !== 'string') return null
    const { index, block } = this.#block(kind, part)
    const chunk = delta === '' ? null : this.#context.transform({ type: `${kind}_delta`, id: block.id, delta })
    block.text += kind === 'text' ? (chunk?.delta ?? '') : delta
    this.#put(index, block)
    return chunk
  }

  #closeBlock(kind: BlockKind, part: StreamPart): null {
    const { index, block } = this.#block(kind, part)
    block.isOpen = false
    return this.#put(index, block)
  }

  /**
   * A copy of the block that the part belongs to, or a new block. A part without an id belongs to the newest open
   * block.
   */
  #block(kind: BlockKind, part: StreamPart): { index: number; block: Own<DraftBlock> } {
    const providerId = textOf(part['id'])
    const index = this.#openAt(providerId === null ? kind : keyOf(kind, providerId))
    const known = this.#items[index] as DraftBlock | undefined
    if (known) return { index, block: { ...known, metadata: merged(known.metadata, part) } }
    const id = `${kind}-${this.#blocks[kind]}`
    return { index, block: { kind, providerId, id, text: '', metadata: merged(undefined, part), isOpen: true } }
  }

  #startCall(part: StreamPart): null {
    const { index, call } = this.#call(part)
    return this.#put(index, call)
  }

  /** Input without an announced call is ignored: the call itself contains all of it. */
  #addInput(part: StreamPart): StreamChunk | null {
    const { delta } = part
    const index = this.#openAt(keyOf('call', textOf(part['id'])))
    const call = this.#items[index] as DraftCall | undefined
    if (!call || typeof delta !== 'string') return null
    const chunk = this.#inputChunk(call, delta)
    this.#put(index, { ...call, input: call.input + delta, metadata: merged(call.metadata, part) })
    return chunk
  }

  #endInput(part: StreamPart): null {
    const index = this.#openAt(keyOf('call', textOf(part['id'])))
    const call = this.#items[index] as DraftCall | undefined
    return call ? this.#put(index, { ...call, metadata: merged(call.metadata, part) }) : null
  }

  #completeCall(part: StreamPart): StreamChunk | null {
    if (this.#isRepeated(part)) return null
    const { index, call } = this.#call(part)
    const input = inputOf(part) ?? call.input
    const chunk = call.input === '' ? this.#inputChunk(call, input) : null
    call.input = input
    call.isComplete = true
    this.#put(index, call)
    const key = keyOf(call.providerId, call.name)
    this.#inputs.set(key, (this.#inputs.get(key) ?? new Set()).add(input))
    return chunk
  }

  /** A copy of the call that the part belongs to, or a new call. */
  #call(part: StreamPart): { index: number; call: Own<DraftCall> } {
    const providerId = textOf(part['toolCallId'] ?? part['id'])
    const index = this.#openAt(keyOf('call', providerId))
    const known = this.#items[index] as DraftCall | undefined
    const isProviderRun = part['providerExecuted'] === true || known?.isProviderRun === true
    const name = textOf(part['toolName']) ?? known?.name ?? ''
    const metadata = merged(known?.metadata, part)
    if (known) return { index, call: { ...known, name, isProviderRun, metadata } }
    const begun = { kind: 'call', providerId, callId: this.#context.newCallId(), input: '', isComplete: false } as const
    return { index, call: { ...begun, name, isProviderRun, metadata } }
  }

  /** Whether the same call was sent before. A different call with a used id is a new call. */
  #isRepeated(part: StreamPart): boolean {
    const providerId = textOf(part['toolCallId'])
    if (providerId === null || this.#openAt(keyOf('call', providerId)) >= 0) return false
    const { toolName } = part
    return typeof toolName === 'string' && !!this.#inputs.get(keyOf(providerId, toolName))?.has(inputOf(part) ?? '')
  }

  #inputChunk(call: DraftCall, delta: string): StreamChunk | null {
    if (call.isProviderRun || delta === '') return null
    return this.#context.transform({ type: 'tool_input_delta', callId: call.callId, name: call.name, delta })
  }

  /**
   * A later result of a call replaces the earlier one, such as a preview. Results of Perdure's own calls are ignored.
   */
  #addResult(part: StreamPart): null {
    const providerCallId = textOf(part['toolCallId'])
    if (providerCallId === null) return null
    const call = this.#items[this.#newestCall.get(providerCallId) ?? -1] as DraftCall | undefined
    if (call?.isProviderRun === false) return null
    const result: MessagePart = {
      type: 'provider_result',
      providerCallId,
      name: textOf(part['toolName']) ?? call?.name ?? '',
      result: toJson(part['result']) ?? null,
      ...(part['isError'] === true ? { isError: true } : {}),
      ...withMetadata(merged(undefined, part)),
    }
    const index = this.#results.get(providerCallId) ?? -1
    this.#results.set(providerCallId, index < 0 ? this.#items.length : index)
    return this.#put(index, { kind: 'part', part: result })
  }

  #openAt(key: string): number {
    const places = this.#open.get(key)
    if (!places) return -1
    while (places.length > 0 && !isOpen(this.#items[places.at(-1)!]!)) places.pop()
    return places.at(-1) ?? -1
  }

  /** Stores an item at `index`; -1 appends it. */
  #put(index: number, item: DraftItem): null {
    if (index < 0) return this.#push(item)
    this.#items[index] = item
    this.#hasBegun ||= isSomething(item)
    return null
  }

  #push(item: DraftItem): null {
    const index = this.#items.push(item) - 1
    this.#hasBegun ||= isSomething(item)
    if (item.kind === 'part') return null
    if (item.kind === 'call' && item.providerId !== null) this.#newestCall.set(item.providerId, index)
    if (item.kind !== 'call') this.#blocks[item.kind] += 1
    if (item.kind !== 'call') this.#addPlace(item.kind, index)
    this.#addPlace(keyOf(item.kind, item.providerId), index)
    return null
  }

  #addPlace(key: string, index: number): void {
    const places = this.#open.get(key)
    if (places) places.push(index)
    else this.#open.set(key, [index])
  }
}

/** Includes the length of the first, so that different pairs have different keys. */
function keyOf(first: string | null, second: string | null): string {
  return `${first === null ? '' : first.length} ${first} ${second === null ? 'none' : `:${second}`}`
}

function isOpen(item: DraftItem): boolean {
  if (item.kind === 'part') return false
  return item.kind === 'call' ? !item.isComplete : item.isOpen
}

function inputOf(part: StreamPart): string | null {
  const { input } = part
  if (typeof input === 'string') return input
  const copy = toJson(input)
  return copy === undefined ? null : JSON.stringify(copy)
}

/** Merges the keys of each provider: an id may come at the start and the signature at the end. */
function merged(known: JsonObject | undefined, part: StreamPart): JsonObject | undefined {
  const added = toJsonObject(part['providerMetadata'])
  if (!known || !added) return added ?? known
  const members = Object.entries(added).map(([provider, value]) => {
    const before = known[provider]
    return [provider, isRecord(before) && isRecord(value) ? { ...before, ...value } : value]
  })
  return { ...known, ...Object.fromEntries(members) }
}
