import type {
  LanguageModelV3Prompt,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { ModelRef } from '../log/events.ts'

/**
 * Lists what a provider would refuse in a prompt, each with its message; empty when there is nothing. Covers the rules of three APIs about pairing and order,
 * ids, names and contents; not how much a model accepts, or which files it reads.
 */
export function validatePrompt(
  prompt: LanguageModelV4Prompt | LanguageModelV3Prompt,
  provider: PromptProvider,
): string[] {
  return problemsBy(promptRules[provider], prompt as LanguageModelV4Prompt)
}

/** The same for a model. An unknown provider must meet the rules of all three. */
export function problemsFor(model: ModelRef, prompt: LanguageModelV4Prompt): string[] {
  const name = `${model.provider} ${model.modelId}`
  const known = [/anthropic|claude/i, /openai|azure|gpt/i, /google|vertex|gemini/i].findIndex((pattern) =>
    pattern.test(name),
  )
  const provider = (['anthropic', 'openai', 'google'] as const)[known]
  return problemsBy(provider ? promptRules[provider] : strictest, prompt)
}

function problemsBy(rules: PromptRules, prompt: LanguageModelV4Prompt): string[] {
  return [...orderProblems(prompt, rules), ...partProblems(prompt, rules), ...pairProblems(prompt, rules)]
}

function orderProblems(prompt: LanguageModelV4Prompt, rules: PromptRules): string[] {
  const problems: string[] = []
  const { beginsWithUser, endsWithQuestion, answersAlternate } = rules
  const spoken = prompt.filter((message) => message.role !== 'system')
  if (spoken.length === 0) return ['the prompt has no message']
  const lastSystem = prompt.findLastIndex((message) => message.role === 'system')
  if (lastSystem > prompt.findIndex((message) => message.role !== 'system')) {
    problems.push(`message ${lastSystem}: instructions must come before everything else`)
  }
  if (beginsWithUser && spoken[0]!.role !== 'user')
    problems.push(`the first message has the role ${spoken[0]!.role}, not user`)
  if (endsWithQuestion && spoken.at(-1)!.role === 'assistant') problems.push('the last message has the role assistant')
  if (!answersAlternate) return problems
  for (const [index, message] of prompt.entries()) {
    if (message.role === 'assistant' && prompt[index - 1]?.role === 'assistant') {
      problems.push(`message ${index}: an assistant message follows an assistant message`)
    }
  }
  return problems
}

/** Checks that nothing is empty, that all text can be sent, and that reasoning is the provider's own and is followed by something. */
function partProblems(prompt: LanguageModelV4Prompt, rules: PromptRules): string[] {
  const problems = prompt.flatMap((message, index) =>
    [...emptyProblems(message), ...textProblems(message), ...reasoningProblems(message, rules)].map(
      (problem) => `message ${index}: ${problem}`,
    ),
  )
  const marks = prompt.flatMap((message) => [message, ...partsOf(message)]).filter(isMarked).length
  if (marks > 0 && marks > rules.breakpoints)
    problems.push(`${marks} cache marks; the provider takes at most ${rules.breakpoints}`)
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

/** Every call has exactly one result, directly after it, under its name; there are no other results. */
function pairProblems(prompt: LanguageModelV4Prompt, rules: PromptRules): string[] {
  const problems: string[] = []
  const used = new Set<string>()
  for (const [index, message] of prompt.entries()) {
    const place = `message ${index}`
    for (const call of callsOf(message)) {
      const { toolCallId, toolName } = call
      if (used.has(toolCallId)) problems.push(`${place}: the id '${toolCallId}' is used twice`)
      used.add(toolCallId)
      if (!rules.callId.test(toolCallId)) problems.push(`${place}: the id '${toolCallId}' is not one it takes`)
      if (!rules.toolName.test(toolName)) problems.push(`${place}: the tool name '${toolName}' is not one it takes`)
      if (!isPlainObject(call.input)) problems.push(`${place}: the input of '${toolCallId}' is not an object`)
    }
    if (message.role === 'assistant') {
      problems.push(...hostedProblems(message, place))
      const own = callsOf(message).filter((call) => !call.providerExecuted)
      problems.push(...unanswered(own, prompt[index + 1], place))
    }
    if (message.role === 'tool' && !callsOf(prompt[index - 1]).some((call) => !call.providerExecuted)) {
      problems.push(`${place}: results follow no call`)
    }
  }
  return problems
}

function unanswered(
  calls: readonly LanguageModelV4ToolCallPart[],
  next: LanguageModelV4Message | undefined,
  place: string,
): string[] {
  if (calls.length === 0) return []
  const results = next?.role === 'tool' ? next.content.filter((part) => part.type === 'tool-result') : []
  const problems: string[] = []
  for (const { toolCallId, toolName } of calls) {
    const own = results.filter((result) => result.toolCallId === toolCallId)
    if (own.length === 0) problems.push(`${place}: the call '${toolCallId}' has no result right after it`)
    if (own.length > 1) problems.push(`${place}: the call '${toolCallId}' has ${own.length} results`)
    if (own.some((result) => result.toolName !== toolName))
      problems.push(`${place}: the result of '${toolCallId}' is of another tool`)
  }
  for (const { toolCallId } of results) {
    if (!calls.some((call) => call.toolCallId === toolCallId))
      problems.push(`${place}: a result of '${toolCallId}', which was not called`)
  }
  return problems
}

/** A call that the provider ran has its result in the same message, after it. */
function hostedProblems({ content }: Extract<LanguageModelV4Message, { role: 'assistant' }>, place: string): string[] {
  const open = new Set<string>()
  const problems: string[] = []
  for (const part of content) {
    if (part.type === 'tool-call' && part.providerExecuted) open.add(part.toolCallId)
    if (part.type === 'tool-result' && !open.delete(part.toolCallId))
      problems.push(`${place}: a result of '${part.toolCallId}', which its host was not asked for`)
  }
  return [...problems, ...[...open].map((id) => `${place}: the call '${id}' of its host has no result`)]
}

function callsOf(message: LanguageModelV4Message | undefined): LanguageModelV4ToolCallPart[] {
  return message?.role === 'assistant' ? message.content.filter((part) => part.type === 'tool-call') : []
}

function resultsOf(message: LanguageModelV4Message): LanguageModelV4ToolResultPart[] {
  if (message.role !== 'assistant' && message.role !== 'tool') return []
  return (message.content as readonly { type: string }[]).filter(
    (part) => part.type === 'tool-result',
  ) as LanguageModelV4ToolResultPart[]
}

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The providers whose rules a prompt can be checked against. */
export type PromptProvider = 'openai' | 'anthropic' | 'google'

type PromptRules = {
  readonly beginsWithUser: boolean
  /** The last message is from the user or a tool: the model has something to answer. */
  readonly endsWithQuestion: boolean
  readonly answersAlternate: boolean
  readonly callId: RegExp
  readonly toolName: RegExp
  /** The keys of its own metadata in `providerOptions`. */
  readonly namespaces: readonly string[]
  /** The most cache marks in a prompt. */
  readonly breakpoints: number
}

const promptRules: { readonly [provider in PromptProvider]: PromptRules } = {
  openai: {
    beginsWithUser: false,
    endsWithQuestion: false,
    answersAlternate: false,
    callId: /^.{1,40}$/s,
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    namespaces: ['openai', 'azure'],
    breakpoints: 0,
  },
  anthropic: {
    beginsWithUser: true,
    // Newer models do not continue an answer that was started for them.
    endsWithQuestion: true,
    // It joins messages of one role itself.
    answersAlternate: false,
    callId: /^[a-zA-Z0-9_-]{1,64}$/,
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    namespaces: ['anthropic'],
    breakpoints: 4,
  },
  google: {
    beginsWithUser: true,
    endsWithQuestion: true,
    // A function call must come right after a user message or a function response.
    answersAlternate: true,
    callId: /^.+$/s,
    toolName: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/,
    namespaces: ['google', 'vertex'],
    breakpoints: 0,
  },
}

const strictest: PromptRules = {
  beginsWithUser: true,
  endsWithQuestion: true,
  answersAlternate: true,
  callId: /^[a-zA-Z0-9_-]{1,40}$/,
  toolName: /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/,
  namespaces: ['openai', 'azure', 'anthropic', 'google', 'vertex'],
  breakpoints: 4,
}
