import type {
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4ProviderTool,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider'
import { unknownKeys } from '../base/errors/read-options.ts'
import { isRecord, textOf } from '../base/json.ts'
import type { ModelRef } from '../log/events.ts'
import type { Turn } from './turn.ts'

/** An AI SDK language model: specification v3 (`ai` 6) or v4 (`ai` 7). */
export type LanguageModel = LanguageModelV3 | LanguageModelV4

/** In the form of v4. `callModel` converts it for v3 models. */
export type ModelPrompt = LanguageModelV4Prompt

export type ModelTool = LanguageModelV4FunctionTool | LanguageModelV4ProviderTool

/** Sent with every model call. Default: the model's own settings. */
export type ModelSettings = {
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly providerOptions?: LanguageModelV4CallOptions['providerOptions']
  readonly toolChoice?: ToolChoice
  /** Only for v4 models. */
  readonly reasoning?: LanguageModelV4CallOptions['reasoning']
}

/** Whether the model may, must not or must call a tool. Default: `auto`. */
export type ToolChoice = 'auto' | 'none' | 'required' | LanguageModelV4ToolChoice

/** Checks the shape, so that a model from another copy or version of the provider package is accepted. */
export function isLanguageModel(value: unknown): value is LanguageModel {
  return (
    isRecord(value) &&
    (value['specificationVersion'] === 'v3' || value['specificationVersion'] === 'v4') &&
    typeof value['provider'] === 'string' &&
    typeof value['modelId'] === 'string' &&
    typeof value['doStream'] === 'function'
  )
}

export function modelRef(model: LanguageModel): ModelRef {
  return { provider: textOf(model.provider) ?? 'unknown', modelId: textOf(model.modelId) ?? 'unknown' }
}

/**
 * A piece of a message while it is written. Closed union. `id` names a block of text or reasoning within its message;
 * `callId` is Perdure's. A call that arrives in one piece has one chunk with all of its input.
 */
export type StreamChunk =
  | { readonly type: 'text_delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'reasoning_delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'tool_input_delta'; readonly callId: string; readonly name: string; readonly delta: string }

/** May change the `delta` of a chunk. Returning anything that is not this chunk drops it. */
export type ChunkTransformer = (chunk: StreamChunk) => unknown

/** An agent's model, chosen anew before each model call of a turn. */
export type ModelChooser = (turn: Turn) => LanguageModel | Promise<LanguageModel>

const settingKeys = ['temperature', 'maxOutputTokens', 'providerOptions', 'toolChoice', 'reasoning']

/** Lists what is wrong with settings of a model call. */
export function settingsProblems(settings: unknown): string[] {
  const problems = unknownKeys(settings, settingKeys)
  const { temperature, maxOutputTokens, providerOptions, toolChoice } = Object(settings) as ModelSettings
  if (temperature !== undefined && !Number.isFinite(temperature)) problems.push("'temperature' must be a number")
  if (maxOutputTokens !== undefined && !(Number.isSafeInteger(maxOutputTokens) && maxOutputTokens >= 1)) {
    problems.push("'maxOutputTokens' must be a whole number of at least 1")
  }
  if (providerOptions !== undefined && !isRecord(providerOptions)) problems.push("'providerOptions' must be an object")
  const kind = isRecord(toolChoice) ? toolChoice['type'] : toolChoice
  if (kind !== undefined && !['auto', 'none', 'required', 'tool'].includes(kind as string)) {
    problems.push("'toolChoice' must be 'auto', 'none', 'required', or { type: 'tool', toolName }")
  }
  return problems
}

/** The tool that settings make the model call; undefined where they name none. */
export function demandedTool(settings: unknown): unknown {
  const { toolChoice } = Object(settings) as { toolChoice?: unknown }
  return isRecord(toolChoice) ? toolChoice['toolName'] : undefined
}
