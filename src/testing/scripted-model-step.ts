import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'

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

export type StepContext = { readonly provider: string; readonly modelId: string; readonly n: number }

/** The chunks of a step, and what follows the last one. The same step gives the same ids, so that runs can be compared. */
export function chunksOf(step: Step, context: StepContext): { chunks: Chunk[]; end: Chunk } {
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
