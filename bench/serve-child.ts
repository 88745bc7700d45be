import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { defineAgent } from '../src/define/define-agent.ts'
import { createRuntime } from '../src/runtime/create-runtime.ts'
import { serve } from '../src/server/index.ts'
import { memoryStore } from '../src/store/memory/memory-store.ts'

/** `go` is sent as the message: the number of deltas, and how many of them between two pauses of a millisecond. */
type Go = { readonly deltas: number; readonly burst: number }

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** Streams the current time, over and over. */
const clockModel: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'bench',
  modelId: 'clock',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('the bench only streams')),
  async doStream({ prompt }) {
    const { deltas, burst } = askedFor(prompt)
    let n = 0
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      async pull(controller) {
        if (n % burst === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        n += 1
        const now = performance.timeOrigin + performance.now()
        if (n <= deltas) controller.enqueue({ type: 'text-delta', id: 't', delta: `${now.toFixed(3)} ` })
        else {
          controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage })
          controller.close()
        }
      },
    })
    return { stream }
  },
}

function askedFor(prompt: readonly { readonly role: string; readonly content: unknown }[]): Go {
  const [part] = prompt.findLast(({ role }) => role === 'user')!.content as { text: string }[]
  return JSON.parse(part!.text) as Go
}

const runtime = createRuntime({ agents: [defineAgent({ name: 'clock', model: clockModel })], store: memoryStore() })
// The measuring client reads as fast as it can, on the same two cores.
const server = await serve(runtime, { port: 0, limits: { streamBytes: 64 * 1024 * 1024 } })
process.on('disconnect', () => process.exit(0))
process.send?.({ port: server.port })
