import type { LanguageModelV4Message } from '@ai-sdk/provider'

/**
 * Providers want a user to begin, to stand between two answers, and to have the last word. Where that was a message with nothing in it, this
 * stands for it. `follows` is what comes before `messages`.
 */
export function fillGaps(
  messages: readonly LanguageModelV4Message[],
  follows: LanguageModelV4Message | undefined,
): LanguageModelV4Message[] {
  const filled: LanguageModelV4Message[] = []
  for (const message of messages) {
    if (message.role === 'assistant' && needsUser(filled.at(-1) ?? follows)) filled.push(emptyMessage)
    filled.push(message)
  }
  if (needsUser(filled.at(-1) ?? follows)) filled.push(emptyMessage)
  return filled
}

const emptyMessage: LanguageModelV4Message = { role: 'user', content: [{ type: 'text', text: '[an empty message]' }] }

/** Whether a user has to speak before the model does. */
function needsUser(message: LanguageModelV4Message | undefined): boolean {
  return message === undefined || message.role === 'assistant' || message.role === 'system'
}
