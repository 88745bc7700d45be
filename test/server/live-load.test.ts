import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createHandler } from '../../src/server/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const clients = 200
const commits = 3_000
const conversations = 100

/** Commits as fast as 1,000 a second, and how long that took. */
async function commitAll(store: ReturnType<typeof memoryStore>): Promise<number> {
  const tenant = store.forTenant('acme')
  let spentMs = 0
  for (let n = 0; n < commits; n++) {
    const began = performance.now()
    await tenant.commit(`c${n % conversations}`, {
      events: [{ type: 'note', content: { name: 'n', data: n, who: 'ann' } }],
    })
    spentMs += performance.now() - began
    if (n % 50 === 49) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return spentMs
}

test('200 feeds of a tenant with 1,000 commits a second are told everything, hold little, and leave commits alone', async () => {
  const store = memoryStore({ logger: silentLogger })
  const agents = [defineAgent({ name: 'helper', model: scriptedModel(() => 'Hi.') })]
  const runtime = createRuntime({ agents, store, logger: silentLogger, work: false })
  for (let n = 0; n < conversations; n++) await store.forTenant('acme').putConversation(`c${n}`, { agent: 'helper' })
  const handler = createHandler(runtime, {
    authenticate: () => createScope({ user: 'ann', tenant: 'acme' }),
    logger: silentLogger,
    limits: { streams: 1_000 },
  })
  const alone = await commitAll(store)
  const bytes: number[] = []
  const last: string[] = []
  const stalled: ReadableStream<Uint8Array>[] = []
  const stop = new AbortController()
  for (let n = 0; n < clients; n++) {
    const { body } = await handler(new Request('http://localhost/live', { signal: stop.signal }))
    // Every tenth client opens the stream and never reads.
    if (n % 10 === 0) stalled.push(body!)
    else void read(body!, n)
  }
  async function read(body: ReadableStream<Uint8Array>, n: number): Promise<void> {
    const decoder = new TextDecoder()
    const reader = body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      bytes[n] = (bytes[n] ?? 0) + value.byteLength
      last[n] = ((last[n] ?? '') + decoder.decode(value)).slice(-40_000)
    }
  }
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  const watched = await commitAll(store)
  await new Promise((resolve) => setTimeout(resolve, 400))
  globalThis.gc?.()
  const grownBytes = process.memoryUsage().heapUsed - before
  const end = (await store.forTenant('acme').listConversations({ ids: ['c99'] }))[0]!.lastSeq
  for (const [n, text] of last.entries()) {
    if (n % 10 === 0) continue
    expect(text).toContain(`"id":"c99"`)
    expect(text).toContain(`"lastSeq":${end},`)
  }
  console.log(
    `${clients} feeds, ${commits} commits: ${(alone / commits).toFixed(3)} ms a commit alone, ${(watched / commits).toFixed(3)} ms beside the feeds; heap grew by ${Math.round(grownBytes / 1024)} KiB; ${Math.round((bytes[1] ?? 0) / 1024)} KiB to each client`,
  )
  // What is kept for 200 clients: their last 40,000 characters here, and the feed.
  expect(grownBytes).toBeLessThan(100 * 1024 * 1024)
  expect(watched).toBeLessThan(20 * alone + 5_000)
  stop.abort()
  handler.close()
  for (const body of stalled) await body.cancel().catch(() => {})
  await runtime.close()
  await store.close()
}, 60_000)
