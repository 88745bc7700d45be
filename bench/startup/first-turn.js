import { createRuntime, defineAgent } from 'perdure'
import { sqliteStore } from 'perdure/sqlite'

// Node loads it on first use; a provider does so when it is imported.
const Stream = ReadableStream
const parts = [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'It is 42.' },
  { type: 'text-end', id: '0' },
  {
    type: 'finish',
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 5, text: 5, reasoning: 0 },
    },
  },
]
const model = {
  specificationVersion: 'v4',
  provider: 'bench',
  modelId: 'instant',
  supportedUrls: {},
  doStream: async () => ({ stream: Stream.from(parts) }),
}
const agent = defineAgent({ name: 'bench', model, instructions: 'Answer.' })

const before = process.cpuUsage()
const startedAt = performance.now()
const runtime = createRuntime({ agents: [agent], store: sqliteStore({ path: process.argv[2] }) })
const turn = await runtime.conversation('c1', { agent: 'bench' }).send('hi')
const outcome = await turn.outcome()
const wallMs = performance.now() - startedAt
const { user, system } = process.cpuUsage(before)
if (outcome.status !== 'completed') throw new Error(`the turn ended as ${outcome.status}`)
process.stdout.write(JSON.stringify({ wallMs, cpuMs: (user + system) / 1_000 }))
await runtime.close()
