import {
  APICallError,
  type LanguageModelV3,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Content,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4StreamPart,
  type LanguageModelV4Usage,
} from '@ai-sdk/provider'
import { onAbort, pause } from '../base/abort.ts'

/**
 * One step for every call; a list with one step per call; or a function of the call. A call is one `doStream` or `doGenerate`, so a retry takes the next step
 * of a list.
 */
export type ModelScript = Step | readonly Step[] | ((call: ScriptedModelCall) => Step | Promise<Step>)

/** One call of the model. */
export type ScriptedModelCall = {
  /** Counts from 1. */
  readonly n: number
  readonly prompt: LanguageModelV4CallOptions['prompt']
  readonly options: Omit<LanguageModelV4CallOptions, 'prompt'>
}

/** How the model identifies itself. */
export type ScriptedModelOptions = {
  /** Default: `v4`. */
  readonly specificationVersion?: 'v3' | 'v4'
  readonly provider?: string
  readonly modelId?: string
}

/** Every call so far, including failed ones. */
type Recorded = { readonly calls: readonly ScriptedModelCall[] }

/** A language model that follows a script and records its calls. */
export function scriptedModel(
  script: ModelScript,
  options: ScriptedModelOptions & { readonly specificationVersion: 'v3' },
): LanguageModelV3 & Recorded
export function scriptedModel(
  script: ModelScript,
  options?: ScriptedModelOptions & { readonly specificationVersion?: 'v4' },
): LanguageModelV4 & Recorded
export function scriptedModel(
  script: ModelScript,
  options?: ScriptedModelOptions,
): (LanguageModelV3 | LanguageModelV4) & Recorded
export function scriptedModel(
  script: ModelScript,
  { specificationVersion = 'v4', provider = 'scripted', modelId = 'scripted-model' }: ScriptedModelOptions = {},
): (LanguageModelV3 | LanguageModelV4) & Recorded {
  const calls: ScriptedModelCall[] = []

  async function begin({
    prompt,
    ...options
  }: LanguageModelV4CallOptions): Promise<AsyncIterator<LanguageModelV4StreamPart>> {
    const call: ScriptedModelCall = { n: calls.length + 1, prompt, options }
    calls.push(call)
    options.abortSignal?.throwIfAborted()
    const step = await stepOf(script, call)
    if (typeof step === 'object' && step.error) throw scriptedError(step.error)
    return play(step, { provider, modelId, n: call.n }, options.abortSignal)
  }

  const model = {
    specificationVersion: specificationVersion as 'v4',
    provider,
    modelId,
    supportedUrls: {},
    calls,
    doStream: async (options: LanguageModelV4CallOptions) => ({ stream: streamOf(await begin(options)) }),
    doGenerate: async (options: LanguageModelV4CallOptions) => collect(await begin(options)),
  } satisfies LanguageModelV4 & Recorded
  // The two specifications differ only in what a script cannot express: file data and custom parts.
  return model as (LanguageModelV3 | LanguageModelV4) & Recorded
}

async function stepOf(script: ModelScript, call: ScriptedModelCall): Promise<Step> {
  if (typeof script === 'function') return script(call)
  if (!isList(script)) return script
  const step = script[call.n - 1]
  if (step === undefined) {
    const steps = script.length === 1 ? '1 step' : `${script.length} steps`
    throw new Error(
      `scriptedModel: the script has ${steps}, and this is call ${call.n}. Add a step, or use a function.`,
    )
  }
  return step
}

function isList(script: Step | readonly Step[]): script is readonly Step[] {
  return Array.isArray(script)
}

function scriptedError({ status, headers, message }: ScriptedError): APICallError {
  return new APICallError({
    message: message ?? (status === undefined ? 'Cannot connect to API: scripted' : `scripted error ${status}`),
    url: 'https://scripted.invalid/v1',
    requestBodyValues: {},
    ...(headers ? { responseHeaders: { ...headers } } : {}),
    ...(status === undefined ? { isRetryable: true } : { statusCode: status }),
  })
}

async function* play(
  step: Step,
  context: Parameters<typeof chunksOf>[1],
  signal: AbortSignal | undefined,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const never = Number.POSITIVE_INFINITY
  const { delayMs = 0, cutAfter = never, stallAfter = never, warnings = [] } = typeof step === 'string' ? {} : step
  const { chunks, end } = chunksOf(step, context)
  yield { type: 'stream-start', warnings: warnings.map((message) => ({ type: 'other', message })) }
  yield { type: 'response-metadata', id: `response-${context.n}`, modelId: context.modelId }
  for (const [index, chunk] of [...chunks, end].entries()) {
    if (index > 0 && delayMs > 0) await pause(delayMs, { signal })
    if (index >= stallAfter) await new Promise<void>((resolve) => onAbort(signal, resolve))
    signal?.throwIfAborted()
    if (index >= cutAfter)
      throw new TypeError('terminated', { cause: Object.assign(new Error('scripted cut'), { code: 'ECONNRESET' }) })
    yield* chunk
  }
}

function streamOf(parts: AsyncIterator<LanguageModelV4StreamPart>): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    async pull(controller) {
      const next = await parts.next()
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    },
  })
}

async function collect(parts: AsyncIterator<LanguageModelV4StreamPart>): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4Content[] = []
  for (let next = await parts.next(); !next.done; next = await parts.next()) {
    const part = next.value
    const last = content.at(-1)
    if (part.type === 'text-start') content.push({ type: 'text', text: '' })
    else if (part.type === 'reasoning-start') content.push({ type: 'reasoning', text: '' })
    else if ((part.type === 'text-delta' || part.type === 'reasoning-delta') && last && 'text' in last)
      last.text += part.delta
    else if (part.type === 'reasoning-end' && part.providerMetadata)
      Object.assign(last!, { providerMetadata: part.providerMetadata })
    else if (part.type === 'source' || part.type === 'tool-call') content.push(part)
    else if (part.type === 'finish')
      return { content, finishReason: part.finishReason, usage: part.usage, warnings: [] }
  }
  throw new Error('scriptedModel: the step has no end')
}

/** What a scripted model does in one call. A string is a text in one chunk. Parts come in this order: reasoning, text, object, sources, calls. */
export type Step =
  | string
  | {
      /** A list is streamed chunk by chunk. */
      readonly text?: string | readonly string[]
      /** Ends with a signature in the provider's metadata. */
      readonly reasoning?: string
      readonly calls?: readonly ScriptedToolCall[]
      /** Sent as JSON text, like the answer of a model that was asked for an object. */
      readonly object?: unknown
      readonly sources?: readonly unknown[]
      /** The pause between chunks, and between the last chunk and the end. */
      readonly delayMs?: number
      /** Fails the call before its first chunk. Without a status: as if the provider could not be reached. */
      readonly error?: ScriptedError
      /** The stream breaks after this many chunks. A chunk is a piece of text, a reasoning, a source or a call. */
      readonly cutAfter?: number
      /** The stream falls silent after this many chunks, and ends only when the signal aborts. */
      readonly stallAfter?: number
      /** What the provider warns of before it answers. */
      readonly warnings?: readonly string[]
      /** Counts such as `{ inputTokens: 12, outputTokens: 3 }`, or the specification's own shape. */
      readonly usage?: object
      /** Default: `tool-calls` when there are calls, else `stop`. */
      readonly finishReason?: string
    }

/** A string in `args` is sent unchanged, so it need not be JSON. */
export type ScriptedToolCall = { readonly tool: string; readonly args: unknown; readonly id?: string }

/** How a scripted call fails. Without a status: as if the provider could not be reached. */
export type ScriptedError = {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly message?: string
}

/** The stream parts that are sent together. */
type Chunk = readonly LanguageModelV4StreamPart[]

type StepContext = { readonly provider: string; readonly modelId: string; readonly n: number }

/** The chunks of a step, and what follows the last one. The same step gives the same ids, so that runs can be compared. */
function chunksOf(step: Step, context: StepContext): { chunks: Chunk[]; end: Chunk } {
  const { text, reasoning, calls, object, sources, usage, finishReason } =
    typeof step === 'string' ? { text: step } : step
  const texts = [...(Array.isArray(text) ? text : text === undefined ? [] : [text]), ...objectText(object)]
  const chunks: Chunk[] = [
    ...(reasoning === undefined ? [] : [reasoningChunk(reasoning, context)]),
    ...texts.map((delta) => [{ type: 'text-delta' as const, id: 'text', delta }]),
    ...(sources ?? []).map((source, index) => [sourcePart(source, index)]),
    ...(calls ?? []).map((call, index) => callChunk(call, `call_${context.n}_${index + 1}`)),
  ]
  const firstText = reasoning === undefined ? 0 : 1
  if (texts.length > 0) {
    const lastText = firstText + texts.length - 1
    chunks[firstText] = [{ type: 'text-start', id: 'text' }, ...chunks[firstText]!]
    chunks[lastText] = [...chunks[lastText]!, { type: 'text-end', id: 'text' }]
  }
  const unified = finishReason ?? (calls && calls.length > 0 ? 'tool-calls' : 'stop')
  const finish = { type: 'finish', finishReason: { unified, raw: unified }, usage: fullUsage(usage) }
  return { chunks, end: [finish as LanguageModelV4StreamPart] }
}

function objectText(object: unknown): string[] {
  return object === undefined ? [] : [JSON.stringify(object)]
}

function reasoningChunk(delta: string, { provider, n }: StepContext): Chunk {
  return [
    { type: 'reasoning-start', id: 'reasoning' },
    { type: 'reasoning-delta', id: 'reasoning', delta },
    { type: 'reasoning-end', id: 'reasoning', providerMetadata: { [provider]: { signature: `signature-${n}` } } },
  ]
}

function sourcePart(source: unknown, index: number): LanguageModelV4StreamPart {
  const given = typeof source === 'string' ? { url: source } : (source as object)
  return { type: 'source', sourceType: 'url', id: `source-${index + 1}`, ...given } as LanguageModelV4StreamPart
}

function callChunk({ tool, args, id: givenId }: ScriptedToolCall, defaultId: string): Chunk {
  const id = givenId ?? defaultId
  const input = typeof args === 'string' ? args : JSON.stringify(args ?? {})
  return [
    { type: 'tool-input-start', id, toolName: tool },
    { type: 'tool-input-delta', id, delta: input },
    { type: 'tool-input-end', id },
    { type: 'tool-call', toolCallId: id, toolName: tool, input },
  ]
}

const defaultUsage = { inputTokens: 10, outputTokens: 5 }

function fullUsage(usage: object = defaultUsage): LanguageModelV4Usage {
  const { inputTokens, outputTokens, ...rest } = { ...defaultUsage, ...usage } as Record<string, unknown>
  const input = typeof inputTokens === 'number' ? { total: inputTokens } : inputTokens
  const output = typeof outputTokens === 'number' ? { total: outputTokens } : outputTokens
  return { ...rest, inputTokens: input, outputTokens: output } as LanguageModelV4Usage
}
