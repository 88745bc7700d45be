import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { BlobRef } from '../../log/blob-ref.ts'
import type { ModelRef, UserPart } from '../../log/events.ts'
import type { ConversationState } from '../../log/state.ts'
import { withBreakpoints } from './cache-breakpoints.ts'
import { CallIds } from './call-ids.ts'
import { type EndedTurns, noTurns } from './ended-turns.ts'
import { fillGaps } from './fill-gaps.ts'
import { noReduction, type Reduction, visibleTurns } from './reduction.ts'
import { renderSeed } from './render-seed.ts'
import { renderTurn } from './render-turn.ts'
import { renderUserParts } from './render-user.ts'

export type RenderOptions = {
  readonly system: string
  /** Whom it is rendered for: reasoning goes back only to the provider that made it. */
  readonly model: ModelRef
  /** Of the hooks that leave nothing in the log. Always last, so that what is before them stays the same. */
  readonly injections?: readonly UserPart[]
  /** Bytes of the blobs the log refers to, by hash; one that is missing is told to the model as missing. */
  readonly blobs?: ReadonlyMap<string, Uint8Array>
  readonly reduction?: Reduction
  /** What is remembered of prompts before, so that little has to be rendered again. */
  readonly ended?: EndedTurns
}

/**
 * What the model sees of a log: system prompt, summary (or what it was seeded with), the turns in the window, injections. Legal for every provider, whatever prefix of
 * whatever log it is. Pure.
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

/** Told as a user message: what people and tools said does not gain the trust of instructions by being summed up. */
export function renderSummary({ summary }: Pick<Reduction, 'summary'>): LanguageModelV4Message[] {
  if (!summary || summary.text.trim() === '') return []
  const text = `${summaryHeading}\n\n${summary.text.toWellFormed()}`
  return [{ role: 'user', content: [{ type: 'text', text }] }]
}

export const summaryHeading = 'Summary of the conversation so far, in place of its earlier messages:'

/** The blobs a prompt needs, so that the caller can read them before rendering. */
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
      // What a model made is only told of.
      if (item.type === 'user') add(item.message.parts)
      else if (item.type === 'injection') add(item.parts)
    }
  }
  add(injections)
  return files
}
