import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { validatePrompt } from '../../../src/testing/validate-prompt.ts'

/**
 * What the two strictest providers would refuse: one has rules for ids, the other for the order of messages. And what no model may read: the
 * rest of a message that was cancelled, what a hook did not pass, and notes.
 */
export function checkPrompt(prompt: LanguageModelV4Prompt): string[] {
  const unsaid = JSON.stringify(prompt).includes('never said') ? ['it has what was never said'] : []
  return [...new Set([...validatePrompt(prompt, 'anthropic'), ...validatePrompt(prompt, 'google'), ...unsaid])]
}
