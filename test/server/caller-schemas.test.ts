import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { doubling } from '../schemas/hostile-pairs.ts'
import { type Starting, startServer } from './start-server.ts'

const size = { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] }
const json = { 'content-type': 'application/json' }

async function start(serve: Starting['serve'] & object = {}) {
  const model = scriptedModel(() => '{"size":7}')
  const helper = defineAgent({ name: 'helper', model, output: { type: 'object', properties: { size: {} } } })
  const started = await startServer({ agents: [helper], serve })
  return { ...started, chat: started.client.conversation('c', { agent: 'helper' }) }
}

describe('a server that was not told to take schemas of its callers', () => {
  test('refuses a message that brings one, and keeps nothing of it', async () => {
    const { chat, client } = await start()
    const refused = { code: 'schema_not_allowed', status: 403, message: expect.stringContaining('callerSchemas') }
    await expect(chat.send('Hi', { output: size, key: 'one' })).rejects.toMatchObject(refused)
    await expect(chat.send('Hi', { output: {} })).rejects.toMatchObject(refused)
    expect((await client.conversations()).conversations).toEqual([])
    const { turnId } = await chat.send('Hi', { key: 'one' })
    expect(await chat.outcome(turnId)).toMatchObject({ status: 'completed', object: { size: 7 } })
  })

  test("lets them opt out of the agent's", async () => {
    const { chat } = await start()
    const outcome = await chat.outcome((await chat.send('Hi', { output: false })).turnId)
    expect(outcome).toMatchObject({ status: 'completed', text: '{"size":7}' })
    expect(outcome).not.toHaveProperty('object')
  })
})

describe('a server with callerSchemas', () => {
  test('takes a schema, and the turn ends with an object of it', async () => {
    const { chat } = await start({ callerSchemas: true })
    const outcome = await chat.outcome((await chat.send('Hi', { output: size })).turnId)
    expect(outcome).toMatchObject({ status: 'completed', object: { size: 7 } })
  })

  test.each<[string, JsonObject, string, number]>([
    ['doubles forty times', doubling(40), 'schema_too_complex', 422],
    ['is its own', { $ref: '#' }, 'schema_too_complex', 422],
    ['has a back reference', { pattern: '(a)\\1' }, 'schema_too_complex', 422],
    ['is huge', { enum: Array.from({ length: 150_000 }, (_, n) => n) }, 'schema_too_complex', 422],
    ['refers to nothing', { $ref: '#/$defs/none' }, 'invalid_argument', 400],
    ['is none', { type: 5 }, 'invalid_argument', 400],
  ])('refuses one that %s, and keeps nothing of it', async (_, output, code, status) => {
    const { chat, client } = await start({ callerSchemas: true })
    await expect(chat.send('Hi', { output })).rejects.toMatchObject({ code, status })
    expect((await client.conversations()).conversations).toEqual([])
  })

  test('answers at once about an object that a pattern of a caller would take for ever to judge', async () => {
    const model = scriptedModel(() => JSON.stringify(`${'a'.repeat(60)}!`))
    const { client } = await startServer({ model, serve: { callerSchemas: true } })
    const chat = client.conversation('c', { agent: 'helper' })
    const { turnId } = await chat.send('Hi', { output: { pattern: '^(a+)+$' } })
    expect(await chat.outcome(turnId)).toMatchObject({ status: 'failed', reason: 'invalid_object' })
  })

  test('must be told so with true', async () => {
    await expect(start({ callerSchemas: 'yes' as never })).rejects.toThrow(/'callerSchemas' must be true or false/)
  })
})

test.each([
  [
    '/ui/helper',
    {
      id: 'c',
      trigger: 'submit-message',
      messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
    },
  ],
  ['/flows/greeting/sessions/s/start', { input: 1 }],
  ['/flows/greeting/sessions/s/resume', { value: 1 }],
  ['/conversations/c/calls/x/answer', { value: 1 }],
  ['/conversations/c/fork', {}],
])('%s takes no schema, also with callerSchemas', async (path, body) => {
  const { server, client } = await start({ callerSchemas: true })
  for (const name of ['output', 'schema']) {
    const text = JSON.stringify({ ...body, [name]: size })
    const answer = await fetch(server.url + path, { method: 'POST', headers: json, body: text })
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'invalid_request' }])
  }
  expect((await client.conversations()).conversations).toEqual([])
})
