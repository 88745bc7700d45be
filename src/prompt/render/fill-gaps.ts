import type { LanguageModelV4Message } from '@ai-sdk/provider'

/**
 * Leaves out messages with nothing in them, but where a user has to speak: providers want a user to begin, to stand between two answers, and
 * to have the last word. Whether one is left out depends only on what is before it, so that it stays so when the log grows. `follows` is
 * what comes before `messages`.
 */
export function fillGaps(
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
