import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { until } from './until.ts'

/** One call of a model whose words the story puts into its mouth, when it wants. */
export type PacedCall = {
  readonly prompt: LanguageModelV4CallOptions['prompt']
  readonly signal: AbortSignal | undefined
  say(text: string): void
  /** Any other part of its stream. */
  stream(part: LanguageModelV4StreamPart): void
  call(tool: string, args: object): void
  finish(): void
  /** Says it, and that is all. */
  answer(text: string): void
  fail(error: unknown): void
}

export type PacedModel = LanguageModelV4 & {
  readonly calls: readonly PacedCall[]
  /** The nth call, counted from 1, as soon as it is made. */
  called(n: number): Promise<PacedCall>
  /** Waits for the nth call and answers it. */
  answer(n: number, text: string): Promise<void>
}

/** A model that says nothing until it is told to. Takes no notice of its signal, as some providers do. */
export function pacedModel({ modelId = 'paced' }: { modelId?: string } = {}): PacedModel {
  const calls: PacedCall[] = []
  const called = (n: number) => until(() => calls[n - 1])
  return {
    specificationVersion: 'v4',
    provider: 'paced',
    modelId,
    supportedUrls: {},
    calls,
    called,
    answer: async (n, text) => (await called(n)).answer(text),
    doGenerate: () => Promise.reject(new Error('only streams')),
    doStream: async (options) => {
      const { call, stream } = pacedCall(options)
      calls.push(call)
      return { stream }
    },
  }
}

function pacedCall({ prompt, abortSignal }: LanguageModelV4CallOptions) {
  let controller!: ReadableStreamDefaultController<LanguageModelV4StreamPart>
  let isOver = false
  let toolCalls = 0
  const stream = new ReadableStream<LanguageModelV4StreamPart>({
    start: (given) => {
      controller = given
    },
    cancel: () => {
      isOver = true
    },
  })
  const send = (...parts: LanguageModelV4StreamPart[]): void => {
    for (const part of parts) if (!isOver) controller.enqueue(part)
  }
  const call: PacedCall = {
    prompt,
    signal: abortSignal,
    say: (text) => send({ type: 'text-delta', id: 'text', delta: text }),
    stream: (part) => send(part),
    call: (tool, args) => {
      toolCalls += 1
      send({ type: 'tool-call', toolCallId: `paced-${toolCalls}`, toolName: tool, input: JSON.stringify(args) })
    },
    finish: () => send({ type: 'finish', ...ending(toolCalls > 0 ? 'tool-calls' : 'stop') }),
    answer: (text) => {
      call.say(text)
      call.finish()
    },
    fail: (error) => {
      if (!isOver) controller.error(error)
      isOver = true
    },
  }
  return { call, stream }
}

function ending(reason: 'stop' | 'tool-calls') {
  return {
    finishReason: { unified: reason, raw: reason },
    usage: {
      inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 5, text: 5, reasoning: 0 },
    },
  }
}
