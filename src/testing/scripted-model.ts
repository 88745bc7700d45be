import {
  APICallError,
  type LanguageModelV3,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Content,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import { pause } from '../base/abort.ts'
import { chunksOf, type ScriptedError, type Step } from './scripted-model-step.ts'

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
  const { delayMs = 0, cutAfter = Number.POSITIVE_INFINITY } = typeof step === 'string' ? {} : step
  const { chunks, end } = chunksOf(step, context)
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'response-metadata', id: `response-${context.n}`, modelId: context.modelId }
  for (const [index, chunk] of [...chunks, end].entries()) {
    if (index > 0 && delayMs > 0) await pause(delayMs, { signal })
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
