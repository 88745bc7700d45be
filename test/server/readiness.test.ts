import { afterEach, expect, inject, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createClient } from '../../src/client/index.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { readinessOf } from '../../src/runtime/readiness.ts'
import { serve } from '../../src/server/index.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { freshDatabase } from '../setup/fresh-database.ts'
import { until } from '../stories/until.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { startServer } from './start-server.ts'

const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

test('a server whose database went silent answers /health, says not_ready at /ready, and is ready again when it is back (postgres)', async () => {
  const proxy = await startFaultyProxy(await freshDatabase(inject('postgresUrl')))
  const limits = { connectTimeoutMs: 2_000, answerTimeoutMs: 2_000, hintCheckMs: 500 }
  const store = postgresStore({ connectionString: proxy.url, max: 2, logger: silentLogger, ...limits })
  const agents = [defineAgent({ name: 'helper', model: scriptedModel(() => 'Hello.') })]
  const runtime = createRuntime({ agents, store, logger: silentLogger })
  const server = await serve(runtime, { port: 0, logger: silentLogger })
  closing.push(
    () => proxy.close(),
    () => store.close(),
    () => runtime.close({ drainMs: 0 }),
    () => server.close({ drainMs: 0 }),
  )
  const client = createClient({ url: server.url })
  expect(await client.ready()).toEqual({ status: 'ready', store: 'ok', worker: 'ok' })

  proxy.freeze()
  proxy.hangNewAt('SET')
  await until(() =>
    client.ready().then(
      () => false,
      (error: { code: string }) => error.code === 'not_ready',
    ),
  )
  expect(await client.health()).toEqual({ status: 'ok' })
  expect((await fetch(`${server.url}/ready`)).status).toBe(503)

  proxy.hangNewAt(null)
  await until(() =>
    client.ready().then(
      () => true,
      () => false,
    ),
  )
})

test('a closed runtime is not ready', async () => {
  const { runtime, client } = await startServer()
  expect(await client.ready()).toMatchObject({ status: 'ready' })
  await runtime.close()
  await expect(client.ready()).rejects.toMatchObject({ code: 'not_ready', retryable: true })
  await expect(client.ready()).rejects.toThrow('store: ok, worker: closed')
})

test('a node that works on nothing is ready when its store is, and a worker that cannot look for work is not', async () => {
  const store = memoryStore({ logger: silentLogger })
  const ask = { store, clock: systemClock, timeoutMs: 100 }
  expect(await readinessOf({ ...ask, worker: null })).toEqual({ isReady: true, store: 'ok', worker: 'off' })
  const stuck = { isClosed: false, isStuck: () => true }
  expect(await readinessOf({ ...ask, worker: stuck })).toEqual({ isReady: false, store: 'ok', worker: 'stuck' })
  await store.close()
  expect(await readinessOf({ ...ask, worker: null })).toEqual({ isReady: false, store: 'failed', worker: 'off' })
})
