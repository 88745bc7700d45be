import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createClient } from '../../src/client/create-client.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { systemScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createHandler } from '../../src/server/create-handler.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { titled } from '../../src/testing/conformance/event-builders.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const operatorToken = 'an-operator-token-of-some-length'

function served() {
  const store = memoryStore({ logger: silentLogger })
  const agent = defineAgent({ name: 'desk', model: scriptedModel(['hello']) })
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger, work: false })
  const handler = createHandler(runtime, {
    authenticate: () => systemScope(),
    upkeep: { store, operatorToken },
    logger: silentLogger,
  })
  const fetch = (async (input: string | URL | Request, init?: RequestInit) =>
    handler(new Request(input, init))) as typeof globalThis.fetch
  const client = (token?: string) =>
    createClient({ url: 'http://127.0.0.1:4111', fetch, ...(token ? { operatorToken: token } : {}) })
  return { store, client }
}

test('an operator lists what failed, has it tried again, discards it, and removes a subscriber', async () => {
  const { store, client } = served()
  const outbox = store.outbox!
  await outbox.register([{ name: 'receiver', types: ['titled'], agent: null }])
  for (const id of ['a', 'b', 'c']) await store.appendEvent(id, titled('x'))
  for (const delivery of await outbox.claim({ subscribers: ['receiver'], limit: 10, leaseMs: 1_000, lapsed: false }))
    await outbox.settle(delivery, { type: 'failed', error: 'the receiver answered 500' })
  const operator = client(operatorToken)
  expect(await operator.subscribers()).toMatchObject([{ name: 'receiver', failed: 3, waiting: 0 }])
  const failed = await operator.failedDeliveries()
  expect(failed).toEqual(await outbox.failed())
  expect(failed[0]).toMatchObject({
    subscriber: 'receiver',
    conversationId: 'c',
    seq: 1,
    error: 'the receiver answered 500',
  })
  expect(await operator.failedDeliveries({ limit: 1, before: failed[0]!.id })).toEqual([failed[1]])
  expect(await operator.retryDeliveries([failed[0]!.id])).toBe(1)
  expect(await operator.discardDeliveries([failed[1]!.id])).toBe(1)
  expect(await operator.subscribers()).toMatchObject([{ failed: 1, waiting: 1 }])
  expect(await operator.removeSubscriber('receiver')).toBe(true)
  expect(await operator.removeSubscriber('receiver')).toBe(false)
  expect(await operator.subscribers()).toEqual([])
})

test('users get nothing of it', async () => {
  const { client } = served()
  for (const ask of [client().subscribers(), client().failedDeliveries(), client().retryDeliveries([1])])
    await expect(ask).rejects.toMatchObject({ name: 'RemoteError' })
})
