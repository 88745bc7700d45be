import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4TextPart } from '@ai-sdk/provider'
import type { Json } from '../../base/json.ts'
import { isFileUrl } from '../../log/blob-ref.ts'
import { type CallEnd, callEnd, effectiveArgs } from '../../log/call-phase.ts'
import type { FilePart, ModelRef, UserPart } from '../../log/events.ts'
import type { CallState, TurnItem, TurnState } from '../../log/state.ts'
import type { Reduction } from '../budget/reduce.ts'
import { CallIds, ownCopy } from './call-ids.ts'
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
  const text = withdrawnCalls(turn)
  if (text !== '') addUser([{ type: 'text', text }])
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

const heading =
  'The user has replaced an earlier attempt from here on, and its messages are withdrawn. What its tool calls did still stands. They were:'
const advice = 'Take these results as given, and repeat such a call only if the message below asks for that.'

/** How much of the arguments and the result of each call is shown, tried in this order until everything fits. */
const lengths = [4_000, 1_000, 200, 50]
const mostCharacters = 40_000

/**
 * What the tools of withdrawn turns did, as text for the model: each call that was started or answered, with its end. Empty where there was none. Where there
 * are too many to tell each, the oldest are counted by tool and end.
 */
export function withdrawnCalls({ replaced }: Pick<TurnState, 'replaced'>): string {
  const calls = replaced?.calls ?? []
  return calls.length === 0 ? '' : [heading, ...linesOfCalls(calls), advice].join('\n').toWellFormed()
}

function linesOfCalls(calls: readonly CallState[]): string[] {
  let lines: string[] = []
  for (const length of lengths) {
    lines = calls.map((call) => `- ${callLine(call, length)}`)
    if (sizeOf(lines) <= mostCharacters) return lines
  }
  let size = 0
  const first = lines.findLastIndex((line) => {
    size += line.length + 1
    return size > mostCharacters
  })
  return [...countsOf(calls.slice(0, first + 1)), ...lines.slice(first + 1)]
}

/** A call with its end, with at most `length` characters of each. */
export function callLine(call: CallState, length: number): string {
  const args = cut(JSON.stringify(effectiveArgs(call)), length)
  return `${call.name}(${args}): ${endOf(call, length)}`
}

function endOf(call: CallState, length: number): string {
  const end = callEnd(call)
  if (!end) return howItFailed(end)
  if (end.ok) return `done, with the result ${cut(JSON.stringify(end.result), length)}`
  return `${howItFailed(end)}: ${cut(end.error, length)}`
}

function howItFailed(end: CallEnd | null): string {
  if (end && !end.outcome) return 'failed'
  return end?.outcome === 'ran' ? 'it ran' : 'it may have taken effect'
}

function countsOf(calls: readonly CallState[]): string[] {
  const counts = new Map<string, number>()
  for (const call of calls) {
    const end = callEnd(call)
    const how = end?.ok ? 'done' : howItFailed(end)
    const what = `${call.name}: ${how}`
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  return [...counts].map(([what, times]) => `- before those, ${times} times ${what}`)
}

function sizeOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0)
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`
}
