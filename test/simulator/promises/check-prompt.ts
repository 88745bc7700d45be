import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { validatePrompt } from '../../../src/testing/validate-prompt.ts'

/** What the two strictest providers would refuse: one has rules for ids, the other for the order of messages. */
export function checkPrompt(prompt: LanguageModelV4Prompt): string[] {
  return [...new Set([...validatePrompt(prompt, 'anthropic'), ...validatePrompt(prompt, 'google')])]
}
