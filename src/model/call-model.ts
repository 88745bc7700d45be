import type { LanguageModelV3CallOptions, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { isRecord } from '../base/untrusted.ts'
import type { LanguageModel, ToolChoice } from '../define/language-model.ts'
import type { ModelRequest } from './model-request.ts'
import { promptForV3 } from './prompt-for-v3.ts'

/** Calls `doStream` in the words of the model's specification. Rejects with whatever the provider throws, also at once. */
export async function callModel(
  model: LanguageModel,
  prompt: LanguageModelV4CallOptions['prompt'],
  request: ModelRequest,
): Promise<ReadableStreamDefaultReader<unknown>> {
  const options = { ...commonOptions(request), abortSignal: request.signal }
  const { reasoning } = request.settings
  const result: unknown =
    model.specificationVersion === 'v3'
      ? await model.doStream({ ...options, prompt: promptForV3(prompt) } as LanguageModelV3CallOptions)
      : await model.doStream({ ...options, prompt, ...(reasoning === undefined ? {} : { reasoning }) })
  const stream = isRecord(result) ? result['stream'] : undefined
  if (!isRecord(stream) || typeof stream['getReader'] !== 'function') throw new Error('doStream gave no stream')
  return (stream as unknown as ReadableStream<unknown>).getReader()
}

type CommonOptions = Omit<LanguageModelV4CallOptions, 'prompt' | 'abortSignal' | 'reasoning'>

function commonOptions({ tools, settings, output }: ModelRequest): CommonOptions {
  const { temperature, maxOutputTokens, providerOptions, toolChoice } = settings
  const options: CommonOptions = {}
  if (temperature !== undefined) options.temperature = temperature
  if (maxOutputTokens !== undefined) options.maxOutputTokens = maxOutputTokens
  if (providerOptions !== undefined) options.providerOptions = providerOptions
  if (tools.length > 0) {
    options.tools = [...tools]
    // Providers refuse a choice where there is nothing to choose from.
    if (toolChoice !== undefined) options.toolChoice = fullChoice(toolChoice)
  }
  if (output) options.responseFormat = { type: 'json', ...output } as NonNullable<CommonOptions['responseFormat']>
  return options
}

function fullChoice(choice: ToolChoice): Exclude<ToolChoice, string> {
  return typeof choice === 'string' ? { type: choice } : choice
}
