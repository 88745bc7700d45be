import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { resultsOf } from './validate-prompt-calls.ts'
import type { PromptRules } from './validate-prompt-rules.ts'

/** Nothing is empty, everything is text a request can carry, and reasoning is the provider's own and leads somewhere. */
export function partProblems(prompt: LanguageModelV4Prompt, rules: PromptRules): string[] {
  const problems = prompt.flatMap((message, index) =>
    [...emptyProblems(message), ...textProblems(message), ...reasoningProblems(message, rules)].map(
      (problem) => `message ${index}: ${problem}`,
    ),
  )
  const marks = prompt.flatMap((message) => [message, ...partsOf(message)]).filter(isMarked).length
  if (marks > 0 && marks > rules.breakpoints)
    problems.push(`${marks} places are marked for its cache; it takes ${rules.breakpoints}`)
  return problems
}

type Part = Exclude<LanguageModelV4Message['content'], string>[number]

function partsOf(message: LanguageModelV4Message): readonly Part[] {
  return message.role === 'system' ? [] : message.content
}

function emptyProblems(message: LanguageModelV4Message): string[] {
  if (message.role === 'system') return message.content.trim() === '' ? ['the instructions are empty'] : []
  const problems = message.content.length === 0 ? ['it has no content'] : []
  for (const part of message.content) {
    if (part.type === 'text' && part.text.trim() === '') problems.push('a text is empty')
    if (part.type === 'file' && part.mediaType === '') problems.push('a file has no media type')
  }
  for (const { toolCallId, output } of resultsOf(message)) {
    const isEmpty =
      'value' in output &&
      typeof output.value === 'string' &&
      output.type.endsWith('text') &&
      output.value.trim() === ''
    if (isEmpty) problems.push(`the result of '${toolCallId}' is empty`)
    if ('value' in output && output.value === undefined) problems.push(`the result of '${toolCallId}' is missing`)
  }
  return problems
}

function textProblems(message: LanguageModelV4Message): string[] {
  return isWellFormed(message) ? [] : ['it has half of a surrogate pair, which is not Unicode']
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return true
  return Object.entries(value).every(([key, member]) => key.isWellFormed() && isWellFormed(member))
}

function reasoningProblems(message: LanguageModelV4Message, { namespaces }: PromptRules): string[] {
  if (message.role !== 'assistant') return []
  const problems: string[] = []
  const isForeign = ({ providerOptions = {} }: Part) =>
    Object.keys(providerOptions).some((name) => known.includes(name) && !namespaces.includes(name))
  if (message.content.some((part) => part.type === 'reasoning' && isForeign(part))) {
    problems.push('it has the reasoning of another provider')
  }
  if (message.content.at(-1)?.type === 'reasoning') problems.push('it ends with reasoning')
  return problems
}

const known = ['openai', 'azure', 'anthropic', 'google', 'vertex']

function isMarked({ providerOptions }: Part | LanguageModelV4Message): boolean {
  return providerOptions?.['anthropic']?.['cacheControl'] !== undefined
}
