import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { PromptRules } from './validate-prompt-rules.ts'

/** Every call is answered once, at once, and under its name; nothing else is answered. */
export function pairProblems(prompt: LanguageModelV4Prompt, rules: PromptRules): string[] {
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

/** A call that the model's host ran has its result in the same message, after it. */
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

export function resultsOf(message: LanguageModelV4Message): LanguageModelV4ToolResultPart[] {
  if (message.role !== 'assistant' && message.role !== 'tool') return []
  return (message.content as readonly { type: string }[]).filter(
    (part) => part.type === 'tool-result',
  ) as LanguageModelV4ToolResultPart[]
}

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
