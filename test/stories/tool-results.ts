import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'

type ModelCall = { readonly prompt: LanguageModelV4Prompt }
type Output = LanguageModelV4ToolResultPart['output']

/** What the model read as results in one of its calls (counted from 1), as `[tool, output]`, in the order of the prompt. */
export function toolResults(model: { readonly calls: readonly ModelCall[] }, n: number): [string, Output][] {
  const call = model.calls[n - 1]
  if (!call) throw new Error(`the model was called ${model.calls.length} times, not ${n}`)
  expectLegal(call.prompt)
  return call.prompt.flatMap((message) =>
    message.role === 'tool' ? resultsOf(message).map((part): [string, Output] => [part.toolName, part.output]) : [],
  )
}

/** What the model reads as its own calls, as `[tool, input]`. */
export function toolCalls(model: { readonly calls: readonly ModelCall[] }, n: number): [string, unknown][] {
  return (model.calls[n - 1]?.prompt ?? []).flatMap((message) =>
    message.role === 'assistant'
      ? message.content.flatMap((part): [string, unknown][] =>
          part.type === 'tool-call' ? [[part.toolName, part.input]] : [],
        )
      : [],
  )
}

/** Providers refuse a call without its result in the very next message, a result without its call, and an id used twice. */
export function expectLegal(prompt: LanguageModelV4Prompt): void {
  const used = new Set<string>()
  for (const [index, message] of prompt.entries()) {
    const calls = message.role === 'assistant' ? ownCallIds(message) : []
    const next = prompt[index + 1]
    const results = next?.role === 'tool' ? resultsOf(next).map((part) => part.toolCallId) : []
    if (message.role === 'assistant' && calls.join() !== results.join())
      throw new Error(`message ${index} calls [${calls.join()}] and is answered with [${results.join()}]`)
    if (message.role === 'tool' && prompt[index - 1]?.role !== 'assistant')
      throw new Error(`message ${index} holds results that no call is before`)
    for (const id of calls) {
      if (used.has(id)) throw new Error(`the call id '${id}' is used twice`)
      used.add(id)
    }
  }
}

function ownCallIds(message: Extract<LanguageModelV4Message, { role: 'assistant' }>): string[] {
  return message.content.flatMap((part) =>
    part.type === 'tool-call' && !part.providerExecuted ? [part.toolCallId] : [],
  )
}

function resultsOf(message: Extract<LanguageModelV4Message, { role: 'tool' }>): LanguageModelV4ToolResultPart[] {
  return message.content.filter((part) => part.type === 'tool-result')
}
