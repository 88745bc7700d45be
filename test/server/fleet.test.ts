import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createClient } from '../../src/client/create-client.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { systemScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createHandler } from '../../src/server/create-handler.ts'
import { serve } from '../../src/server/serve.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const operatorToken = 'an-operator-token-of-some-length'

test('an operator sees nodes and due work, and pauses, resumes and drains over HTTP', async () => {
  const store = memoryStore({ logger: silentLogger })
  const agent = defineAgent({ name: 'desk', model: scriptedModel(['hello']) })
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger, work: false })
  const handler = createHandler(runtime, {
    authenticate: () => systemScope(),
    upkeep: { store, operatorToken },
    logger: silentLogger,
  })
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
    const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }
    const response = await handler(new Request(`http://127.0.0.1:4111${path}`, init))
    return [response.status, (await response.json()) as { acts: { act: string; who: string }[] }] as const
  }
  await runtime.conversation('a', { agent: 'desk' }).send('hi')
  const beat = { holder: 'w', version: '1', works: true, capacity: 1, agents: ['desk'], agentCount: 1, everyMs: 9_000 }
  await store.nodes!.beat({ ...beat, drain: null })
  expect(await ask('GET', '/nodes')).toMatchObject([200, { nodes: [{ holder: 'w', held: 0 }] }])
  expect(await ask('GET', '/work')).toMatchObject([200, { work: [{ id: 'a', state: 'due', pause: null }] }])
  const paused = await ask('POST', '/pauses', { agent: 'desk', reason: 'outage' })
  expect(paused).toMatchObject([200, { target: { agent: 'desk' }, who: 'operator', reason: 'outage' }])
  expect(await ask('GET', '/work?limit=5')).toMatchObject([200, { work: [{ pause: { who: 'operator' } }] }])
  expect(await ask('GET', '/pauses')).toMatchObject([200, { pauses: [{ target: { agent: 'desk' } }] }])
  expect((await ask('POST', '/pauses', {}))[0]).toBe(400)
  expect(await ask('POST', '/pauses/resume', { agent: 'desk', who: 'ada' })).toEqual([200, { resumed: true }])
  expect(await ask('POST', '/nodes/drain', { node: 'w', drainMs: 5 })).toEqual([200, { draining: true }])
  expect(await ask('POST', '/nodes/undrain', { node: 'w' })).toEqual([200, { undrained: true }])
  expect((await ask('GET', '/steering'))[1].acts.map(({ act, who }) => [act, who])).toEqual([
    ['undrain', 'operator'],
    ['drain', 'operator'],
    ['resume', 'ada'],
    ['pause', 'operator'],
  ])
  await runtime.close()
})

test('the client of an operator sees and steers a fleet with the verbs of the runtime, and that of a user does not', async () => {
  const store = memoryStore({ logger: silentLogger })
  const agent = defineAgent({ name: 'desk', model: scriptedModel(['hello']) })
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger, work: false })
  const upkeep = { store, operatorToken }
  const server = await serve(runtime, { port: 0, authenticate: () => systemScope(), upkeep, logger: silentLogger })
  const client = createClient({ url: server.url, operatorToken })
  const user = createClient({ url: server.url })
  for (const id of ['a', 'b']) await client.conversation(id, { agent: 'desk' }).send('hi')
  const beat = {
    holder: 'w/1',
    version: '1',
    works: true,
    capacity: 3,
    agents: ['desk'],
    agentCount: 1,
    everyMs: 9_000,
  }
  await store.nodes!.beat({ ...beat, drain: null })

  expect(await client.nodes()).toEqual(await runtime.nodes())
  expect((await client.nodes()).map(({ holder }) => holder)).toContain('w/1')
  const [first, ...rest] = await client.work({ agent: 'desk' })
  expect([first!.state, rest.length]).toEqual(['due', 1])
  const { at, tenant, id } = first!
  expect(await client.work({ after: { at, tenant, id } })).toEqual(rest)
  expect(await client.work({ state: 'quarantined', limit: 1 })).toEqual([])

  // A list may say for a second that nothing is paused; a record says what is.
  await user.conversations()
  const pause = await client.pause({ conversation: 'a' }, { who: 'ann', reason: 'outage' })
  expect(pause).toMatchObject({ target: { conversation: 'a', tenant: 'default' }, who: 'ann', reason: 'outage' })
  expect(await client.pauses()).toEqual([pause])
  expect(await client.pauses({ before: pause.id })).toEqual([])
  expect(await client.conversation('a').record()).toMatchObject({ paused: { at: pause.at }, tenant: 'default' })
  const inList = async () => {
    const { conversations } = await user.conversations()
    return conversations.map((entry) => [entry.id, entry.paused?.at]).sort()
  }
  await expect.poll(inList, { timeout: 10_000 }).toEqual([
    ['a', pause.at],
    ['b', undefined],
  ])
  expect(await user.conversation('a').record()).toMatchObject({ paused: { at: pause.at } })
  expect(await user.conversation('a').record()).not.toHaveProperty('tenant')
  expect(await client.resume({ conversation: 'a' })).toBe(true)
  expect(await client.resume({ conversation: 'a' })).toBe(false)
  expect(await client.conversation('a').record()).not.toHaveProperty('paused')

  expect(await client.drain('w/1', { who: 'ann', drainMs: 5 })).toBe(true)
  expect((await client.nodes()).find(({ holder }) => holder === 'w/1')?.drain).toMatchObject({ who: 'ann', drainMs: 5 })
  expect(await client.undrain('w/1')).toBe(true)
  expect(await client.drain('unknown')).toBe(false)
  const acts = await client.steeringActs()
  expect(acts.map(({ act, who }) => [act, who])).toEqual([
    ['undrain', 'operator'],
    ['drain', 'ann'],
    ['resume', 'operator'],
    ['pause', 'ann'],
  ])
  expect(await client.steeringActs({ before: acts[1]!.id, limit: 1 })).toEqual([acts[2]])

  expect(await client.unquarantine({ id: 'a' })).toBe(false)
  for (let lapse = 0; lapse < 6; lapse += 1) {
    await store.claimLease('b', `dead-${lapse}`, 1)
    const claimedAt = Date.now()
    await expect.poll(() => Date.now() > claimedAt + 1, { interval: 1 }).toBe(true)
  }
  expect(await client.work({ state: 'quarantined' })).toMatchObject([{ id: 'b', state: 'quarantined' }])
  expect(await client.unquarantine({ id: 'b', tenant: 'default' })).toBe(true)
  expect(await client.work({ state: 'quarantined' })).toEqual([])

  await expect(client.pause({} as never)).rejects.toMatchObject({ code: 'invalid_argument' })
  await expect(client.pauses('all' as never)).rejects.toMatchObject({ code: 'invalid_argument' })
  const refused = [
    () => user.nodes(),
    () => user.work(),
    () => user.pauses(),
    () => user.steeringActs(),
    () => user.pause({ agent: 'desk' }),
    () => user.unquarantine({ id: 'b' }),
    () => user.resume({ agent: 'desk' }),
    () => user.drain('w/1'),
    () => user.undrain('w/1'),
  ]
  for (const ask of refused) await expect(ask()).rejects.toMatchObject({ code: 'operator_only' })
  expect(await client.pauses()).toEqual([])
  await server.close({ drainMs: 0 })
  await runtime.close()
  await store.close()
})
