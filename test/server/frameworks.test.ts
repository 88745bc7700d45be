import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import Fastify from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createClient } from '../../src/client/index.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createHandler, type Handler } from '../../src/server/create-handler.ts'
import { type NodeListener, toNodeListener } from '../../src/server/node/to-node-listener.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { until } from '../stories/until.ts'

const basePath = '/api/agents'
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

const frameworks: Readonly<Record<string, (listener: NodeListener) => Promise<Server>>> = {
  async http(listener) {
    return createServer(listener).listen(0, '127.0.0.1')
  },
  async 'Express, before its body parser'(listener) {
    return express().use(basePath, listener).use(express.json()).listen(0, '127.0.0.1')
  },
  async 'Express, after its body parser'(listener) {
    return express().use(express.json()).use(basePath, listener).listen(0, '127.0.0.1')
  },
  async Fastify(listener) {
    const app = Fastify({ forceCloseConnections: true })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    app.all(`${basePath}/*`, (request, reply) => {
      reply.hijack()
      listener(request.raw, reply.raw)
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    cleanups.push(() => app.close())
    return app.server
  },
}

describe.each(Object.entries(frameworks))('in %s', (_, listenWith) => {
  test('messages are sent and answered', async () => {
    const { client } = await start(listenWith)
    const conversation = client.conversation('c1', { agent: 'helper' })
    const { turnId } = await conversation.send('Grüße, 你好')
    expect(await conversation.outcome(turnId)).toMatchObject({ text: 'One two three.' })
    expect(JSON.stringify(await conversation.view())).toContain('Grüße, 你好')
  })

  test('a live stream arrives while it is written, and ends on the server when its client goes away', async () => {
    const { client, handler } = await start(listenWith)
    const conversation = client.conversation('c1', { agent: 'helper' })
    await conversation.outcome((await conversation.send('first')).turnId)
    const seen: string[] = []
    for await (const { event } of conversation.watch()) {
      if (event.type === 'snapshot') {
        expect(handler.streams().clients).toBe(1)
        await conversation.send('second')
      }
      if (event.type === 'text_delta') seen.push(event.delta)
      if (event.type === 'turn_completed') break
    }
    expect(seen).toEqual(['One ', 'two ', 'three.'])
    await until(() => handler.streams().clients === 0)
  })

  test('a body over the limit is refused, and the answer says so', async () => {
    const { url } = await start(listenWith, { bodyBytes: 1_000 })
    const response = await fetch(`${url}/conversations/c1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'helper', message: 'x'.repeat(5_000) }),
    })
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([413, 'request_too_large'])
  })
})

async function start(
  listenWith: (listener: NodeListener) => Promise<Server>,
  limits: { readonly bodyBytes?: number } = {},
): Promise<{ client: ReturnType<typeof createClient>; handler: Handler; url: string }> {
  const model = scriptedModel(() => ({ text: ['One ', 'two ', 'three.'], delayMs: 10 }))
  const agents = [defineAgent({ name: 'helper', model })]
  const runtime = createRuntime({ agents, store: memoryStore(), logger: silentLogger })
  const handler = createHandler(runtime, { basePath, limits, authenticate: () => createScope({ user: 'ann' }) })
  const server = await listenWith(toNodeListener(handler))
  if (!server.listening) await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${basePath}`
  cleanups.push(async () => {
    handler.close()
    server.close()
    server.closeAllConnections()
    await runtime.close({ drainMs: 0 })
  })
  return { client: createClient({ url }), handler, url }
}
