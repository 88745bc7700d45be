import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { BlobRef } from '../log/blob-ref.ts'
import type { ModelRef, UserPart } from '../log/events.ts'
import type { ConversationState, TurnState } from '../log/state.ts'
import { withBreakpoints } from './cache-breakpoints.ts'
import { CallIds } from './call-ids.ts'
import { fillGaps } from './fill-gaps.ts'
import { orderedItems } from './ordered-items.ts'
import { noReduction, type Reduction, visibleTurns } from './reduction.ts'
import { renderAssistant, renderToolResults } from './render-assistant.ts'
import { renderSeed } from './render-seed.ts'
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
}

/**
 * What the model sees of a log: system prompt, summary (or what it was seeded with), the turns in the window, injections. Legal for every provider, whatever prefix of
 * whatever log it is. Pure.
 */
export function renderContext(state: ConversationState, options: RenderOptions): LanguageModelV4Prompt {
  const { model, reduction = noReduction, blobs } = options
  const callIds = new CallIds()
  const head: LanguageModelV4Message[] = []
  if (options.system.trim() !== '') head.push({ role: 'system', content: options.system.toWellFormed() })
  head.push(...renderSummary(reduction), ...renderSeed(state, reduction))
  const tail = visibleTurns(state.turns, reduction).flatMap((turn) =>
    renderTurn(turn, { model, stubbed: reduction.stubbed, ...(blobs ? { blobs } : {}) }, callIds),
  )
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

export type TurnRendering = Pick<RenderOptions, 'model' | 'blobs'> & Pick<Reduction, 'stubbed'>

/** May have messages of users with nothing in them: see `fillGaps`. */
export function renderTurn(turn: TurnState, options: TurnRendering, callIds: CallIds): LanguageModelV4Message[] {
  const messages: LanguageModelV4Message[] = []
  const addUser = (parts: readonly UserPart[]): void => {
    messages.push({ role: 'user', content: renderUserParts(parts, options.blobs) })
  }
  for (const item of orderedItems(turn)) {
    if (item.type === 'user') addUser(item.message.parts)
    else if (item.type === 'injection') addUser(item.parts)
    else if (item.regeneration) addUser([{ type: 'text', text: item.regeneration.feedback }])
    else {
      const rendering = { model: options.model, calls: turn.calls, callIds }
      const content = renderAssistant(item, rendering)
      if (content.length === 0) continue
      messages.push({ role: 'assistant', content })
      const results = renderToolResults(item, rendering, options.stubbed)
      if (results.length > 0) messages.push({ role: 'tool', content: results })
      // A fork may begin between a message and its calls; what is asked next then has nothing to answer.
      else if (item.parts.some((part) => part.type === 'call')) addUser([])
    }
  }
  return messages
}

/** The blobs a prompt needs, so that the caller can read them before rendering. */
export function blobsNeeded(
  state: ConversationState,
  reduction: Reduction = noReduction,
  injections: readonly UserPart[] = [],
): BlobRef[] {
  const items = visibleTurns(state.turns, reduction).flatMap((turn) => turn.items)
  const parts = items.flatMap((item): readonly UserPart[] => {
    if (item.type === 'user') return item.message.parts
    // What a model made is only told of.
    return item.type === 'injection' ? item.parts : []
  })
  const files = [...parts, ...injections].filter((part) => part.type === 'file')
  return files.flatMap(({ data }) => (typeof data === 'string' ? [] : [data]))
}
