import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { defineAgent } from 'perdure'
import { sqliteStore } from 'perdure/sqlite'
import { fillLog } from '../upkeep/fill-store.ts'

export const conversations = 10_000
export const longLog = 100_000
export const deltasPerSecond = 2_000

/** How many deltas the model has written. */
export const written = { deltas: 0 }

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** Streams text at `deltasPerSecond` for as many seconds as the message says. */
const fastModel: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'figures',
  modelId: 'fast',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('this model only streams')),
  async doStream({ prompt }) {
    const [part] = prompt.findLast(({ role }) => role === 'user')!.content as { text: string }[]
    const total = Number(part!.text) * deltasPerSecond
    const since = performance.now()
    let sent = 0
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      async pull(controller) {
        if (sent === 0) controller.enqueue({ type: 'text-start', id: 't' })
        // Timers are late on a busy machine: what is due is sent.
        while (((performance.now() - since) / 1_000) * deltasPerSecond <= sent)
          await new Promise((resolve) => setTimeout(resolve, 5))
        sent += 1
        written.deltas = Math.min(sent, total)
        const delta = sent % 40 === 0 ? '.\n\n' : `word${sent} `
        if (sent <= total) return controller.enqueue({ type: 'text-delta', id: 't', delta })
        controller.enqueue({ type: 'text-end', id: 't' })
        controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage })
        controller.close()
      },
    })
    return { stream }
  },
}

export const figuresWorld = { agents: [defineAgent({ name: 'support', model: fastModel })] }

/** Many conversations, and one with a long log. */
export async function fillFigures(storeFile: string): Promise<void> {
  const store = sqliteStore({ path: storeFile })
  for (let n = 0; n < conversations; n += 1) await fillLog(store, `ticket-${n}`, 2, 40)
  await fillLog(store, 'long', longLog, 60)
  await store.close()
}
