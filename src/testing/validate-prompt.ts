import type { LanguageModelV3Prompt, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { pairProblems } from './validate-prompt-calls.ts'
import { partProblems } from './validate-prompt-parts.ts'
import { type PromptProvider, promptRules } from './validate-prompt-rules.ts'

/**
 * What a provider would refuse in a prompt, each with the message it is about; empty when there is nothing. Holds the rules of pairing and
 * order of three APIs, and what they want of ids, names and contents; not how much a model takes, or which files it reads.
 */
export function validatePrompt(
  prompt: LanguageModelV4Prompt | LanguageModelV3Prompt,
  provider: PromptProvider,
): string[] {
  const rules = promptRules[provider]
  const messages = prompt as LanguageModelV4Prompt
  return [...orderProblems(messages, provider), ...partProblems(messages, rules), ...pairProblems(messages, rules)]
}

function orderProblems(prompt: LanguageModelV4Prompt, provider: PromptProvider): string[] {
  const problems: string[] = []
  const { beginsWithUser, endsWithQuestion, answersAlternate } = promptRules[provider]
  const spoken = prompt.filter((message) => message.role !== 'system')
  if (spoken.length === 0) return ['the prompt has no message']
  const lastSystem = prompt.findLastIndex((message) => message.role === 'system')
  if (lastSystem > prompt.findIndex((message) => message.role !== 'system')) {
    problems.push(`message ${lastSystem}: instructions come before everything else`)
  }
  if (beginsWithUser && spoken[0]!.role !== 'user')
    problems.push(`the first message is of ${spoken[0]!.role}, not of user`)
  if (endsWithQuestion && spoken.at(-1)!.role === 'assistant') problems.push('the last message is of assistant')
  if (!answersAlternate) return problems
  for (const [index, message] of prompt.entries()) {
    if (message.role === 'assistant' && prompt[index - 1]?.role === 'assistant') {
      problems.push(`message ${index}: an answer follows an answer`)
    }
  }
  return problems
}
