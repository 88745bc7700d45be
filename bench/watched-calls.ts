import { z } from 'zod'
import { silentLogger } from '../src/base/logger.ts'
import { type Client, createClient } from '../src/client/index.ts'
import { defineAgent } from '../src/define/define-agent.ts'
import { defineTool } from '../src/define/define-tool.ts'
import { createRuntime } from '../src/runtime/create-runtime.ts'
import type { Runtime } from '../src/runtime/runtime.ts'
import { serve } from '../src/server/index.ts'
import { memoryStore } from '../src/store/memory/memory-store.ts'
import { scriptedModel } from '../src/testing/scripted-model.ts'
import { milliseconds } from './measure.ts'

type Watching = (world: {
  readonly client: Client
  readonly url: string
  readonly runtime: Runtime
}) => Promise<unknown>

/**
 * The cost of a message with very many calls while it is watched over HTTP, for each way to watch: from the send until
 * the watcher knows that all calls wait.
 */
export async function benchWatchedCalls(args: readonly string[]): Promise<void> {
  const after = (option: string) => (args.includes(option) ? args[args.indexOf(option) + 1] : undefined)
  const count = Number(after('--calls') ?? 4_000)
  for (const [name, watch] of Object.entries(watchings)) {
    if ((after('--only') ?? name) !== name) continue
    console.log(JSON.stringify({ watched: name, calls: count, ...(await bench(watch, count)) }))
  }
}

async function bench(watch: Watching, count: number): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    run: ({ cents }) => `paid ${cents}`,
  })
  const calls = Array.from({ length: count }, (_, index) => ({ tool: 'pay', args: { cents: index } }))
  const agents = [defineAgent({ name: 'payer', model: scriptedModel(() => ({ calls })), tools: [pay] })]
  const store = memoryStore({ logger: silentLogger })
  const runtime = createRuntime({ agents, store, logger: silentLogger }) as unknown as Runtime
  const server = await serve(runtime, { port: 0, logger: silentLogger })
  try {
    const started = process.cpuUsage()
    const client = createClient({ url: server.url })
    const ms = await milliseconds(() => watch({ client, url: server.url, runtime }))
    const { user, system } = process.cpuUsage(started)
    return { ms: Math.round(ms), cpuMs: Math.round((user + system) / 1_000) }
  } finally {
    await server.close({ drainMs: 0 })
    await runtime.close({ drainMs: 0 })
    await store.close()
  }
}

const say = { agent: 'payer' }

const watchings: Readonly<Record<string, Watching>> = {
  unwatched: async ({ runtime }) => (await runtime.conversation('many', say).send('pay')).outcome(),
  views: async ({ client }) => {
    const chat = client.conversation('many', say)
    await chat.send('pay')
    for await (const view of chat.views()) if (view.phase === 'waiting') return
  },
  events: async ({ client }) => {
    const chat = client.conversation('many', say)
    await chat.send('pay')
    for await (const { event } of chat.watch()) {
      if (event.type === 'phase_changed' && event.phase === 'waiting') return
      if (event.type === 'snapshot' && event.view.phase === 'waiting') return
    }
  },
  outcome: async ({ client }) => {
    const chat = client.conversation('many', say)
    await chat.outcome((await chat.send('pay')).turnId)
  },
  text: async ({ runtime }) => {
    const turn = await runtime.conversation('many', say).send('pay')
    for await (const _ of turn.textStream);
  },
  ui: async ({ url }) => {
    const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'pay' }] }
    const body = JSON.stringify({ id: 'many', trigger: 'submit-message', messages: [message] })
    const headers = { 'content-type': 'application/json' }
    await (await fetch(`${url}/ui/payer`, { method: 'POST', headers, body })).text()
  },
}
