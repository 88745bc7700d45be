import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4TextPart } from '@ai-sdk/provider'
import type { Json } from '../../base/json.ts'
import { isFileUrl } from '../../log/blob-ref.ts'
import type { FilePart, ModelRef, UserPart } from '../../log/events.ts'
import type { TurnItem, TurnState } from '../../log/state.ts'
import { CallIds, ownCopy } from './call-ids.ts'
import type { Reduction } from './reduction.ts'
import { renderAssistant } from './render-assistant.ts'

/** Bytes by hash. A file that is not among them is described as missing. `named`: every stored file is only named. */
export type Blobs = ReadonlyMap<string, Uint8Array> | 'named'

export type TurnRendering = {
  readonly model: ModelRef
  readonly stubbed: Reduction['stubbed']
  readonly blobs?: Blobs | undefined
}

/** May contain empty user messages: see `fillGaps`. */
export function renderTurn(turn: TurnState, options: TurnRendering, callIds: CallIds): LanguageModelV4Message[] {
  const { model, stubbed, blobs } = options
  const rendering = { model, stubbed, calls: turn.calls, callIds }
  const messages: LanguageModelV4Message[] = []
  const addUser = (parts: readonly UserPart[]): void => {
    messages.push({ role: 'user', content: renderUserParts(parts, blobs) })
  }
  for (const item of orderedItems(turn)) {
    if (item.type === 'user') addUser(item.message.parts)
    else if (item.type === 'injection') addUser(item.parts)
    else if (item.regeneration) addUser([{ type: 'text', text: item.regeneration.feedback }])
    else {
      const { content, results } = renderAssistant(item, rendering)
      if (content.length === 0) continue
      messages.push({ role: 'assistant', content })
      if (results.length > 0) messages.push({ role: 'tool', content: results })
      // A fork may begin between a message and its calls. Then the next message has no result to follow.
      else if (item.parts.some((part) => part.type === 'call')) addUser([])
    }
  }
  return messages
}

export function renderUserParts(
  parts: readonly UserPart[],
  blobs: Blobs = new Map(),
): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  return parts.flatMap((part) => {
    if (part.type === 'file') return [renderFile(part, blobs)]
    return part.text.trim() === '' ? [] : [{ type: 'text' as const, text: part.text.toWellFormed() }]
  })
}

function renderFile(part: FilePart, blobs: Blobs): LanguageModelV4TextPart | LanguageModelV4FilePart {
  const filename = part.filename === undefined ? {} : { filename: part.filename.toWellFormed() }
  const name = filename.filename ?? ''
  if (typeof part.data === 'string') {
    if (!isFileUrl(part.data)) return { type: 'text', text: `[file ${name}: its address is not on the web]` }
    return { type: 'file', mediaType: part.mediaType, data: { type: 'url', url: new URL(part.data) }, ...filename }
  }
  if (blobs === 'named') return { type: 'text', text: `[file ${name === '' ? part.mediaType.toWellFormed() : name}]` }
  const bytes = blobs.get(part.data.blob)
  if (!bytes) return { type: 'text', text: `[file ${name} is no longer available]` }
  return { type: 'file', mediaType: part.mediaType, data: { type: 'data', data: bytes }, ...filename }
}

/** A message comes before the user messages that its prompt did not include, even if those were committed first. */
export function orderedItems(turn: TurnState): TurnItem[] {
  const ordered: TurnItem[] = []
  for (const item of turn.items) {
    if (item.type !== 'assistant') {
      ordered.push(item)
      continue
    }
    const firstUnseen = ordered.findIndex((earlier) => earlier.type === 'user' && earlier.seq > item.seen)
    ordered.splice(firstUnseen < 0 ? ordered.length : firstUnseen, 0, item)
  }
  return ordered
}

type RenderedTurns = {
  /** How many turns the messages belong to. */
  readonly count: number
  readonly messages: readonly LanguageModelV4Message[]
  /** The ids that the messages use. */
  readonly callIds: CallIds | null
}

export const noTurns: RenderedTurns = { count: 0, messages: [], callIds: null }

type Kept = {
  readonly turns: TurnState[]
  readonly messages: LanguageModelV4Message[]
  readonly callIds: CallIds
  readonly model: ModelRef
  readonly stubbed: Reduction['stubbed']
}

/**
 * Rendered turns at the start of a prompt, kept for the next prompt of the conversation: an ended turn does not change,
 * and prompts mostly grow at their end.
 */
export class EndedTurns {
  #kept: Kept | null = null

  /** The leading turns that have ended and show no files, whose bytes are not kept. The caller owns the messages. */
  of(turns: readonly TurnState[], model: ModelRef, stubbed: Reduction['stubbed']): RenderedTurns {
    const last = this.#kept
    // A turn that failed to render may already have used ids, so nothing is kept.
    this.#kept = null
    const isUsable = last && isFor(last, model, stubbed) && beginsWith(turns, last.turns)
    const kept = isUsable ? last : { turns: [], messages: [], callIds: new CallIds(), model, stubbed }
    for (const turn of turns.slice(kept.turns.length)) {
      if (!turn.end || hasFiles(turn)) break
      kept.messages.push(...renderTurn(turn, { model, stubbed }, kept.callIds))
      kept.turns.push(turn)
    }
    this.#kept = kept
    return { count: kept.turns.length, messages: kept.messages.map(copyOf), callIds: kept.callIds }
  }

  /** How many of the leading turns show no files. */
  countWithoutFiles(turns: readonly TurnState[]): number {
    return this.#kept && beginsWith(turns, this.#kept.turns) ? this.#kept.turns.length : 0
  }
}

export function beginsWith(turns: readonly TurnState[], first: readonly TurnState[]): boolean {
  return first.length <= turns.length && first.every((turn, index) => turn === turns[index])
}

function isFor(kept: Kept, model: ModelRef, stubbed: Reduction['stubbed']): boolean {
  const isSameModel = kept.model.provider === model.provider && kept.model.modelId === model.modelId
  return isSameModel && kept.stubbed === stubbed
}

function hasFiles(turn: TurnState): boolean {
  return turn.items.some((item) => {
    if (item.type === 'assistant') return false
    return (item.type === 'user' ? item.message.parts : item.parts).some((part) => part.type === 'file')
  })
}

/** Each prompt gets its own objects, down to arguments and results, because its receiver may change them. */
export function copyOf(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'system') return { ...message }
  return { ...message, content: message.content.map(ownPart) } as LanguageModelV4Message
}

type Part = Exclude<LanguageModelV4Message['content'], string>[number]

function ownPart(part: Part): Part {
  const copy = { ...part }
  if (copy.type === 'tool-call') copy.input = ownCopy(copy.input as Json)
  else if (copy.type === 'tool-result') copy.output = ownCopy(copy.output as Json) as typeof copy.output
  if (copy.providerOptions) copy.providerOptions = ownCopy(copy.providerOptions as Json) as typeof copy.providerOptions
  return copy
}
