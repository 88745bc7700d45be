import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { Scope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createHandler } from '../../src/server/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

test('a snapshot that cannot be loaded is a 503 to try again, which says nothing of why, and nothing was sent', async () => {
  const store = memoryStore()
  const agents = [defineAgent({ name: 'helper', model: scriptedModel('Hello.') })]
  let isBroken = true
  const loadState = () => (isBroken ? { ok: false, error: 'postgres://ann:secret@db is away' } : null)
  const persistence = { persistState: () => {}, loadState }
  const runtime = createRuntime({ agents, store, persistence, logger: silentLogger })
  const authenticate = () => ({ user: 'ann', assigns: {}, system: false }) as Scope
  const handler = createHandler(runtime, { authenticate, logger: silentLogger })
  const send = () => post(handler, '/conversations/c1/messages', { message: 'Hi', agent: 'helper', key: 'one' })
  const refused = await send()
  expect(refused.status).toBe(503)
  const problem = await refused.text()
  expect(JSON.parse(problem)).toMatchObject({ code: 'snapshot_load_failed', retryable: true })
  expect(problem).not.toContain('secret')
  expect(await store.getConversation('c1')).toBeNull()
  isBroken = false
  expect((await send()).status).toBe(202)
  handler.close()
  await runtime.close({ drainMs: 0 })
  await store.close()
})

test('to continue what has no log is a 404 and loads nothing: only a message restores', async () => {
  const store = memoryStore()
  const agents = [defineAgent({ name: 'helper', model: scriptedModel('Hello.') })]
  let loads = 0
  const loadState = () => {
    loads += 1
    return null
  }
  const persistence = { persistState: () => {}, loadState }
  const runtime = createRuntime({ agents, store, persistence, logger: silentLogger })
  const authenticate = () => ({ user: 'ann', assigns: {}, system: false }) as Scope
  const handler = createHandler(runtime, { authenticate, logger: silentLogger })
  const refused = await post(handler, '/conversations/c1/continue')
  expect([refused.status, await refused.json()]).toMatchObject([404, { code: 'conversation_not_found' }])
  expect([loads, await store.getConversation('c1')]).toEqual([0, null])
  expect((await post(handler, '/conversations/c1/messages', { message: 'Hi', agent: 'helper' })).status).toBe(202)
  expect(loads).toBe(1)
  handler.close()
  await runtime.close({ drainMs: 0 })
  await store.close()
})

async function post(handler: ReturnType<typeof createHandler>, path: string, body: unknown = {}): Promise<Response> {
  const headers = { 'content-type': 'application/json', host: 'localhost' }
  return handler(new Request(`http://localhost${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
}
