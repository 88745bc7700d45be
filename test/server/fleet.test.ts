import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { systemScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createHandler } from '../../src/server/create-handler.ts'
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
