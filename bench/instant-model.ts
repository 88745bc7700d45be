import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}

/**
 * Answers at once and keeps nothing, so that only Perdure's own work is measured: first a call of `look`, then a
 * sentence after its result; without `calls`, the sentence alone.
 */
export function instantModel({ calls = true }: { readonly calls?: boolean } = {}): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'instant',
    supportedUrls: {},
    async doStream({ prompt }) {
      const parts = calls && prompt.at(-1)?.role !== 'tool' ? call : answer
      return { stream: streamOf(parts) }
    },
    async doGenerate() {
      throw new Error('the bench only streams')
    },
  } as LanguageModelV4
}

const finish = (unified: string): LanguageModelV4StreamPart =>
  ({ type: 'finish', finishReason: { unified, raw: unified }, usage }) as LanguageModelV4StreamPart

const call: LanguageModelV4StreamPart[] = [
  { type: 'tool-call', toolCallId: 'call_1', toolName: 'look', input: '{"q":"answer"}' },
  finish('tool-calls'),
]

const answer: LanguageModelV4StreamPart[] = [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'It is 42.' },
  { type: 'text-end', id: '0' },
  finish('stop'),
]

function streamOf(parts: readonly LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}
