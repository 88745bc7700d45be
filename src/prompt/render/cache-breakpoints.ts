import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { ModelRef } from '../../log/events.ts'

/**
 * Marks where a provider that has to be told may cache: the end of what only a reduction changes, and the end of what is in the log.
 * Others find the common prefix by themselves.
 */
export function withBreakpoints(
  head: readonly LanguageModelV4Message[],
  tail: readonly LanguageModelV4Message[],
  model: ModelRef,
): LanguageModelV4Message[] {
  return isTold(model) ? [...marked(head), ...marked(tail)] : [...head, ...tail]
}

/** Its models are also reached through others, who pass the marks on. */
function isTold({ provider, modelId }: ModelRef): boolean {
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

/** The message without our marks, which move from call to call and are no part of what is cached. */
export function withoutBreakpoint(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.providerOptions?.['anthropic']?.['cacheControl'] === undefined) return message
  const { providerOptions: _, ...rest } = message
  return rest
}
