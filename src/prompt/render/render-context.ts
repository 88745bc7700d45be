import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Json } from '../../base/json.ts'
import type { BlobRef } from '../../log/blob-ref.ts'
import type { ModelRef, UserPart } from '../../log/events.ts'
import { readSnapshot } from '../../log/read-snapshot.ts'
import type { SnapshotMessage, SnapshotPart } from '../../log/snapshot.ts'
import { type ConversationState, findCall } from '../../log/state.ts'
import { noReduction, type Reduction, visibleTurns } from '../budget/reduce.ts'
import { CallIds } from './call-ids.ts'
import { type Blobs, type EndedTurns, noTurns, renderTurn, renderUserParts } from './render-turn.ts'

export type RenderOptions = {
  readonly system: string
  /** The model that the prompt is for: reasoning goes back only to the provider that made it. */
  readonly model: ModelRef
  /** Injections of hooks that are not durable. Always last, so that everything before them stays the same. */
  readonly injections?: readonly UserPart[]
  readonly blobs?: Blobs
  readonly reduction?: Reduction
  /** Rendered turns of earlier prompts, which are reused. */
  readonly ended?: EndedTurns
}

/**
 * Renders the prompt of a log: system prompt, summary or seed, the turns in the window, injections. Valid for every
 * provider, for any prefix of any log. Pure.
 */
export function renderContext(state: ConversationState, options: RenderOptions): LanguageModelV4Prompt {
  const { model, reduction = noReduction, blobs } = options
  const head: LanguageModelV4Message[] = []
  if (options.system.trim() !== '') head.push({ role: 'system', content: options.system.toWellFormed() })
  head.push(...renderSummary(reduction), ...renderSeed(state, reduction))
  const turns = visibleTurns(state.turns, reduction)
  const { count, messages, callIds: used } = options.ended?.of(turns, model, reduction.stubbed) ?? noTurns
  const callIds = new CallIds(used)
  const rendering = { model, stubbed: reduction.stubbed, blobs }
  const tail = [...messages, ...turns.slice(count).flatMap((turn) => renderTurn(turn, rendering, callIds))]
  const injected = renderUserParts(options.injections ?? [], blobs)
  const injections: LanguageModelV4Message[] = injected.length > 0 ? [{ role: 'user', content: injected }] : []
  return [...withBreakpoints(head, fillGaps(tail, head.at(-1)), model), ...injections]
}

/**
 * What the model saw when it made a call, as far as the log says: without instructions and without injections of hooks
 * that are not durable.
 */
export function contextOfCall(state: ConversationState, callId: string, reduction: Reduction): LanguageModelV4Prompt {
  const found = findCall(state, callId)
  const message = found?.turn.items.findLast((item) => item.type === 'assistant' && item.seq < found.call.seq)
  if (!found || message?.type !== 'assistant') return []
  const { seen, model } = message
  const items = found.turn.items.filter(({ seq }) => seq <= seen)
  const calls = found.turn.calls.filter(({ seq }) => seq <= seen)
  const turns = state.turns.map((turn) => (turn === found.turn ? { ...turn, items, calls } : turn))
  return renderContext({ ...state, turns }, { system: '', model, reduction, blobs: 'named' })
}

/**
 * Rendered as a user message: what people and tools said must not gain the trust of instructions by being summarised.
 */
export function renderSummary({ summary }: Pick<Reduction, 'summary'>): LanguageModelV4Message[] {
  if (!summary || summary.text.trim() === '') return []
  const text = `${summaryHeading}\n\n${summary.text.toWellFormed()}`
  return [{ role: 'user', content: [{ type: 'text', text }] }]
}

export const summaryHeading = 'Summary of the conversation so far, in place of its earlier messages:'

/** The blobs that a prompt needs, so that the caller can read them before rendering. */
export function blobsNeeded(
  state: ConversationState,
  reduction: Reduction = noReduction,
  injections: readonly UserPart[] = [],
  ended: EndedTurns | null = null,
): BlobRef[] {
  const files: BlobRef[] = []
  const add = (parts: readonly UserPart[]): void => {
    for (const part of parts) if (part.type === 'file' && typeof part.data !== 'string') files.push(part.data)
  }
  const turns = visibleTurns(state.turns, reduction)
  for (const { items } of turns.slice(ended?.countWithoutFiles(turns) ?? 0)) {
    for (const item of items) {
      // Files made by a model are only described.
      if (item.type === 'user') add(item.message.parts)
      else if (item.type === 'injection') add(item.parts)
    }
  }
  add(injections)
  return files
}

/**
 * Drops messages without content, except where a user message is needed: providers require one at the beginning,
 * between two assistant messages, and at the end. The decision depends only on earlier messages, so it stays the same
 * as the log grows. `follows` is the message before `messages`.
 */
function fillGaps(
  messages: readonly LanguageModelV4Message[],
  follows: LanguageModelV4Message | undefined,
): LanguageModelV4Message[] {
  const filled: LanguageModelV4Message[] = []
  const needsUser = (): boolean => {
    const role = (filled.at(-1) ?? follows)?.role
    return role !== 'user' && role !== 'tool'
  }
  for (const message of messages) {
    const isEmpty = message.content.length === 0
    if ((isEmpty || message.role === 'assistant') && needsUser()) filled.push(emptyMessage())
    if (!isEmpty) filled.push(message)
  }
  if (needsUser()) filled.push(emptyMessage())
  return filled
}

function emptyMessage(): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text: '[an empty message]' }] }
}

/**
 * Marks cache breakpoints for providers that need them: the end of what only a reduction changes, and the end of what
 * is in the log. Other providers find the common prefix themselves.
 */
function withBreakpoints(
  head: readonly LanguageModelV4Message[],
  tail: readonly LanguageModelV4Message[],
  model: ModelRef,
): LanguageModelV4Message[] {
  return needsBreakpoints(model) ? [...marked(head), ...marked(tail)] : [...head, ...tail]
}

/** Claude models are also reached through other providers, which pass the marks on. */
function needsBreakpoints({ provider, modelId }: ModelRef): boolean {
  return /anthropic|claude/i.test(`${provider} ${modelId}`)
}

function marked(messages: readonly LanguageModelV4Message[]): LanguageModelV4Message[] {
  const last = messages.at(-1)
  if (!last) return []
  return [
    ...messages.slice(0, -1),
    { ...last, providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } },
  ]
}

/** The message without cache marks, which move from call to call and are not cached themselves. */
export function withoutBreakpoint(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.providerOptions?.['anthropic']?.['cacheControl'] === undefined) return message
  const { providerOptions: _, ...rest } = message
  return rest
}

/**
 * The seed of a conversation, before its first turn, until a summary covers it. Rendered as a user message, like a
 * summary.
 */
export function renderSeed(
  { seed }: Pick<ConversationState, 'seed'>,
  { summary }: Pick<Reduction, 'summary'>,
): LanguageModelV4Message[] {
  const text = summary === null ? seedText(seed) : ''
  if (text === '') return []
  return [{ role: 'user', content: [{ type: 'text', text: `${seedHeading}\n\n${text}` }] }]
}

const seedHeading = 'What was said before, from a copy of an earlier conversation:'

const mostCharacters = 60_000
const longestResult = 4_000
const texts = new WeakMap<object, string>()

/** Plain text, so that a seed cannot smuggle in a role, a call or an instruction. Empty when there is no content. */
export function seedText(seed: Json): string {
  if (seed === null || typeof seed !== 'object') return seed === null ? '' : String(seed).toWellFormed()
  const known = texts.get(seed)
  if (known !== undefined) return known
  const text = cut(tell(seed), mostCharacters).toWellFormed()
  texts.set(seed, text)
  return text
}

function tell(seed: Json): string {
  const read = readSnapshot(seed)
  // The seed was not written by Perdure: it is rendered as JSON.
  if (!read.ok) return JSON.stringify(seed)
  const { summary, messages } = read.snapshot
  const lines = messages.flatMap(linesOf)
  return [...(summary ? [`Summary of what came before: ${summary}`] : []), ...lines].join('\n')
}

function linesOf({ role, parts }: SnapshotMessage): string[] {
  const said = parts.map(saidIn).join('').trim()
  const name = role === 'user' ? 'User' : 'Assistant'
  return [...(said === '' ? [] : [`${name}: ${said}`]), ...parts.flatMap(callIn)]
}

function saidIn(part: SnapshotPart): string {
  if (part.type === 'text') return part.text
  return part.type === 'file' ? `[file ${part.mediaType}]` : ''
}

function callIn(part: SnapshotPart): string[] {
  if (part.type !== 'call') return []
  const isEnded = part.status === 'ok' || part.status === 'error'
  const end = isEnded ? `${part.status}, ${cut(JSON.stringify(part.result), longestResult)}` : 'it had not ended'
  return [`Tool ${part.name}(${cut(JSON.stringify(part.args), longestResult)}): ${end}`]
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`
}
