import type { Explanation, LogEvent } from 'perdure/client'
import type { PromptMessage } from './prompt-diff.ts'

/** What takes up a prompt, and what was left out of it. */
export type BudgetPart = 'system' | 'summary' | 'tail' | 'injections' | 'evicted'

/** Tokens by part. They are estimates from the length of the text, made to add up to the provider's count where there is one. */
export type Budget = {
  readonly parts: readonly { readonly part: BudgetPart; readonly tokens: number }[]
  /** Of everything but `evicted`. */
  readonly total: number
  readonly isEstimate: boolean
}

const charactersPerToken = 4
const summaryHeading = 'Summary of the conversation so far, in place of its earlier messages:'

/**
 * How a prompt was spent. Without the prompt itself (it is recorded only with `audit: 'full'`), the system prompt and the summary are what the provider counted
 * beyond the events in it. `events` are those that the explanations are about.
 */
export function tokenBudget(
  prompt: readonly PromptMessage[] | null,
  explanations: readonly Explanation[],
  events: (seq: number) => LogEvent | undefined,
  inputTokens: number | null,
): Budget {
  const counted = prompt ? fromPrompt(prompt, injectedTexts(explanations, events)) : fromEvents(explanations, events)
  const shown = counted.system + counted.summary + counted.tail + counted.injections
  const scale = prompt && inputTokens !== null && shown > 0 ? (inputTokens * charactersPerToken) / shown : 1
  if (!prompt && inputTokens !== null) {
    counted.system = Math.max(0, inputTokens * charactersPerToken - counted.tail - counted.injections)
  }
  counted.evicted = evictedCharacters(explanations, events)
  const tokens = (part: BudgetPart): number =>
    Math.round((counted[part] * (part === 'evicted' ? 1 : scale)) / charactersPerToken)
  const parts = order.map((part) => ({ part, tokens: tokens(part) })).filter((entry) => entry.tokens > 0)
  const counts = parts.reduce((sum, entry) => sum + (entry.part === 'evicted' ? 0 : entry.tokens), 0)
  return { parts, total: inputTokens ?? counts, isEstimate: inputTokens === null }
}

const order: readonly BudgetPart[] = ['system', 'summary', 'tail', 'injections', 'evicted']

type Counted = Record<BudgetPart, number>

function fromPrompt(prompt: readonly PromptMessage[], injected: ReadonlySet<string>): Counted {
  const counted: Counted = { system: 0, summary: 0, tail: 0, injections: 0, evicted: 0 }
  for (const { role, text } of prompt) {
    const part: BudgetPart =
      role === 'system'
        ? 'system'
        : text.startsWith(summaryHeading)
          ? 'summary'
          : injected.has(text.trim())
            ? 'injections'
            : 'tail'
    counted[part] += text.length
  }
  return counted
}

function fromEvents(explanations: readonly Explanation[], events: (seq: number) => LogEvent | undefined): Counted {
  const counted: Counted = { system: 0, summary: 0, tail: 0, injections: 0, evicted: 0 }
  for (const { seq, shown } of explanations) {
    if (shown !== 'verbatim' && shown !== 'shaped') continue
    const event = events(seq)
    if (event) counted[event.type === 'injection' ? 'injections' : 'tail'] += charactersOf(event)
  }
  return counted
}

function evictedCharacters(
  explanations: readonly Explanation[],
  events: (seq: number) => LogEvent | undefined,
): number {
  let characters = 0
  for (const { seq, shown } of explanations) {
    if (shown !== 'summarised' && shown !== 'outside_window' && shown !== 'stubbed') continue
    const event = events(seq)
    if (event) characters += charactersOf(event)
  }
  return characters
}

function injectedTexts(
  explanations: readonly Explanation[],
  events: (seq: number) => LogEvent | undefined,
): Set<string> {
  const texts = new Set<string>()
  for (const { seq, type } of explanations) {
    const event = type === 'injection' ? events(seq) : undefined
    if (event?.type !== 'injection') continue
    for (const part of event.content.parts) if (part.type === 'text') texts.add(part.text.trim())
  }
  return texts
}

/** The text of an event that can be part of a prompt. */
function charactersOf(event: LogEvent): number {
  switch (event.type) {
    case 'user_msg':
      return partsLength(event.content.message.parts)
    case 'assistant_msg':
    case 'injection':
      return partsLength(event.content.parts)
    case 'tool_call':
      return event.content.name.length + JSON.stringify(event.content.args).length
    case 'tool_result':
      return event.content.ok ? JSON.stringify(event.content.result).length : event.content.error.length
    case 'resolution':
      return JSON.stringify(event.content.value).length
    case 'regeneration':
      return event.content.feedback.length
    default:
      return 0
  }
}

function partsLength(parts: readonly { readonly type: string; readonly text?: string }[]): number {
  return parts.reduce((total, { text = '' }) => total + text.length, 0)
}
