import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { LanguageModel } from '../../src/define/language-model.ts'

export const words = 60

/** An agent whose words carry the name of the process that writes them and of the attempt, so that no two texts can be taken for one. */
export function writer(name: string, delayMs: number): Agent {
  let attempts = 0
  const model: LanguageModel = {
    specificationVersion: 'v4',
    provider: 'writer',
    modelId: 'writer',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('only streams')),
    async doStream({ abortSignal }) {
      attempts += 1
      const attempt = `${name}${attempts}`
      let n = 0
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, delayMs))
          abortSignal?.throwIfAborted()
          if (n === words) {
            controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage })
            return controller.close()
          }
          controller.enqueue({ type: 'text-delta', id: 'text', delta: `${attempt}.${n} ` })
          n += 1
        },
      })
      return { stream }
    },
  }
  return defineAgent({ name: 'writer', model })
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** Throws unless the text is the beginning of one attempt, from its first word on. */
export function checkOneText(text: string): void {
  const found = text.split(' ').filter((word) => word !== '')
  const [attempt] = found[0]?.split('.') ?? []
  for (const [n, word] of found.entries())
    if (word !== `${attempt}.${n}`) throw new Error(`'${word}' is not word ${n} of '${attempt}': ${text}`)
}
