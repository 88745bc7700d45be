import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createClient } from '../../src/client/create-client.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { systemScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createHandler } from '../../src/server/create-handler.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { userMsg } from '../../src/testing/conformance/event-builders.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const operatorToken = 'an-operator-token-of-some-length'

test('operators count, start, read and stop bulk jobs over HTTP, and others do not', async () => {
  const store = memoryStore({ logger: silentLogger })
  const agent = defineAgent({ name: 'desk', model: scriptedModel(['hello']) })
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger, work: false })
  const handler = createHandler(runtime, {
    authenticate: () => systemScope(),
    upkeep: { store, operatorToken },
    logger: silentLogger,
  })
  const fetch = async (url: string | URL | Request, init?: RequestInit) => handler(new Request(url, init))
  const client = createClient({ url: 'http://localhost', operatorToken, fetch })
  await store.commit('c1', { events: [userMsg()], conversation: { agent: 'desk', status: 'active' } })

  const request = { action: 'cancel', filter: { agent: 'desk', status: 'active' } } as const
  expect(await client.bulk.count(request)).toEqual({ matches: 1, isPartial: false })
  const job = await client.bulk.start({ ...request, id: 'a/b', who: 'ops-ann' })
  expect(job).toMatchObject({ id: 'a/b', who: 'ops-ann', state: 'running', filter: request.filter })
  expect(await client.bulk.get('a/b')).toEqual(job)
  expect(await client.bulk.get('c')).toBeNull()
  expect(await client.bulk.list()).toEqual([job])
  expect(await client.bulk.stop('a/b')).toBe(true)
  expect(await client.bulk.get('a/b')).toMatchObject({ state: 'stopped' })
  await expect(client.bulk.start({ action: 'explode' as never })).rejects.toMatchObject({ code: 'invalid_request' })
  const user = createClient({ url: 'http://localhost', fetch })
  await expect(user.bulk.list()).rejects.toMatchObject({ status: 403 })
  await runtime.close()
  await store.close()
})
