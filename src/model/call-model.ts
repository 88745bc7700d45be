import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { Clock } from '../base/clock.ts'
import type { ModelErrorCode } from '../base/errors/model-errors.ts'
import { isRecord, type JsonObject } from '../base/json.ts'
import type { Redact } from '../base/redact/redactor.ts'
import type { TimeoutSettings } from '../define/agent.ts'
import type {
  ChunkTransformer,
  LanguageModel,
  ModelPrompt,
  ModelSettings,
  ModelTool,
  ToolChoice,
} from '../define/language-model.ts'
import type { ModelRef, Usage } from '../log/events.ts'
import type { RetryPolicy } from './fault.ts'

/**
 * Calls `doStream` in the form of the model's specification. Rejects with whatever the provider throws, also
 * synchronously.
 */
export async function callModel(
  model: LanguageModel,
  prompt: LanguageModelV4CallOptions['prompt'],
  request: ModelRequest,
): Promise<ReadableStreamDefaultReader<unknown>> {
  // Raw chunks show that a provider is alive while it thinks, and tell the usage of a stream that breaks.
  const options = { ...commonOptions(request), abortSignal: request.signal, includeRawChunks: true }
  const { reasoning } = request.settings
  const result: unknown =
    model.specificationVersion === 'v3'
      ? await model.doStream({ ...options, prompt: promptForV3(prompt) } as LanguageModelV3CallOptions)
      : await model.doStream({ ...options, prompt, ...(reasoning === undefined ? {} : { reasoning }) })
  const stream = isRecord(result) ? result['stream'] : undefined
  if (!isRecord(stream) || typeof stream['getReader'] !== 'function') throw new Error('doStream returned no stream')
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
    // Providers refuse a tool choice without tools.
    if (toolChoice !== undefined) options.toolChoice = fullChoice(toolChoice)
  }
  if (output) options.responseFormat = { type: 'json', ...output } as NonNullable<CommonOptions['responseFormat']>
  return options
}

function fullChoice(choice: ToolChoice): Exclude<ToolChoice, string> {
  return typeof choice === 'string' ? { type: choice } : choice
}

/**
 * The prompt in the form of specification v3: file data is not tagged, and `custom` and `reasoning-file` parts do not
 * exist. Parts that are already in this form stay.
 */
export function promptForV3(prompt: ModelPrompt): LanguageModelV3Prompt {
  return prompt.map(messageForV3)
}

type V3Content<Role> = Extract<LanguageModelV3Message, { role: Role }>['content'][number]

function messageForV3(message: LanguageModelV4Message): LanguageModelV3Message {
  switch (message.role) {
    case 'system':
      return message
    case 'user':
      return { ...message, content: message.content.flatMap(userPart) }
    case 'assistant':
      return { ...message, content: message.content.flatMap(assistantPart) }
    case 'tool':
      return { ...message, content: message.content.map(toolPart) }
  }
}

function userPart(part: Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]): V3Content<'user'>[] {
  return part.type === 'file' ? filePart(part) : [part]
}

function assistantPart(
  part: Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number],
): V3Content<'assistant'>[] {
  switch (part.type) {
    case 'custom':
    case 'reasoning-file':
      return []
    case 'file':
      return filePart(part)
    case 'tool-result':
      return [resultPart(part)]
    default:
      return [part]
  }
}

function toolPart(part: Extract<LanguageModelV4Message, { role: 'tool' }>['content'][number]): V3Content<'tool'> {
  return part.type === 'tool-result' ? resultPart(part) : part
}

/** Empty for a reference to a file at the provider, which v3 cannot express. */
function filePart(part: LanguageModelV4FilePart): LanguageModelV3FilePart[] {
  const data = bareData(part.data)
  const mediaType = part.mediaType.includes('/') ? part.mediaType : `${part.mediaType}/*`
  return data === null ? [] : [{ ...part, mediaType, data }]
}

function bareData(data: LanguageModelV4FilePart['data']): LanguageModelV3FilePart['data'] | null {
  switch (data.type) {
    case 'data':
      return data.data
    case 'url':
      return data.url
    case 'text':
      return new TextEncoder().encode(data.text)
    case 'reference':
      return null
    default:
      return data
  }
}

function resultPart(part: LanguageModelV4ToolResultPart): LanguageModelV3ToolResultPart {
  return { ...part, output: resultOutput(part.output) }
}

type V3ResultContent = Extract<LanguageModelV3ToolResultOutput, { type: 'content' }>['value'][number]
type V4ResultContent = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]

function resultOutput(output: LanguageModelV4ToolResultOutput): LanguageModelV3ToolResultOutput {
  return output.type === 'content' ? { ...output, value: output.value.map(contentForV3) } : output
}

function contentForV3(part: V4ResultContent): V3ResultContent {
  if (part.type !== 'file') return part
  const { data, mediaType, filename, providerOptions } = part
  const options = providerOptions ? { providerOptions } : {}
  const isImage = mediaType.startsWith('image')
  switch (data.type) {
    case 'url':
      return { type: isImage ? 'image-url' : 'file-url', url: data.url.href, ...options }
    case 'reference':
      return { type: isImage ? 'image-file-id' : 'file-id', fileId: data.reference, ...options }
    case 'text':
      return { type: 'text', text: data.text, ...options }
    case 'data': {
      const base64 = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64')
      if (isImage) return { type: 'image-data', data: base64, mediaType, ...options }
      return { type: 'file-data', data: base64, mediaType, ...(filename === undefined ? {} : { filename }), ...options }
    }
  }
}

/** One model call with all its retries and fallback models. */
export type ModelRequest = {
  /** The agent's model, then its fallback models, tried in order. At least one. */
  readonly models: readonly LanguageModel[]
  /** A function if it depends on the model: reasoning goes back only to the provider that made it. */
  readonly prompt: ModelPrompt | ((model: LanguageModel) => ModelPrompt)
  readonly tools: readonly ModelTool[]
  readonly settings: ModelSettings
  /** The JSON Schema of the object that the model must answer with. */
  readonly output?: { readonly schema: JsonObject; readonly name?: string }
  readonly retry: RetryPolicy | false
  /** For each attempt. */
  readonly timeouts: TimeoutSettings
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Creates the id of a tool call. */
  readonly newCallId: () => string
  readonly transformChunk?: ChunkTransformer | null
  /** Called for every attempt, also failed ones. Must not throw. */
  readonly onAttempt?: (attempt: AttemptReport) => void
  /** Called for an abandoned attempt that had begun or reported its usage, before the next one. Must not throw. */
  readonly onDiscard?: (attempt: DiscardedAttempt) => void
  /**
   * Called when the provider refused the request because there were too many, and nothing had arrived. True: no more attempts are made, and the message is
   * `aborted`. Must not throw.
   */
  readonly onRateLimited?: (refusal: {
    readonly retryAfterMs: number | null
    readonly delayMs: number | null
  }) => boolean
  /** Removes secrets from a provider's texts. */
  readonly redact: Redact
  /** Default: `Math.random`. */
  readonly random?: () => number
}

/** An attempt that another one follows, although something of it had arrived. */
export type DiscardedAttempt = { readonly model: ModelRef; readonly usage: Usage; readonly code: ModelErrorCode }

/** The outcome of one request to a provider. Contains no keys and no headers. */
export type AttemptReport = {
  readonly model: ModelRef
  /** Counts from 1 for each model. */
  readonly attempt: number
  readonly status: 'ok' | 'failed' | 'cancelled'
  readonly latencyMs: number
  /** Null when nothing arrived. */
  readonly timeToFirstTokenMs: number | null
  readonly usage: Usage
  /** What the provider warned of, redacted. */
  readonly warnings: readonly string[]
  readonly error?: string
}
