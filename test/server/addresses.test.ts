import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { LogEvent } from '../../src/log/events.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createStore } from '../../src/store/create-store.ts'
import { memoryDriver } from '../../src/store/memory/memory-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { model as modelOf, streamOf } from '../support/unruly-model.ts'
import { rawRequest } from './raw-request.ts'
import { startServer } from './start-server.ts'

const json = { 'content-type': 'application/json' }

describe('bytes in a path that stand for no text', () => {
  test.each([
    ['a byte that no letter begins with', '/conversations/%ff/view'],
    ['half a letter', '/conversations/%c3/view'],
    ['a letter that was made longer', '/conversations/%c0%af/view'],
    ['half a pair', '/conversations/%ed%a0%80/view'],
    ['a percent sign alone', '/conversations/%/view'],
    ['a percent sign and no number', '/conversations/%zz/view'],
    ['the byte itself', '/conversations/\xff/view'],
    ['a letter as it is', '/conversations/\xc3\xa9/view'],
    ['a byte in the name of an agent', '/ui/%ff/c/messages'],
    ['a byte in a session', '/flows/greeting/sessions/%ff'],
    ['a byte where there is no route', '/%ff'],
    ['a byte in a query', '/conversations?before=%ff'],
  ])('%s: it is refused', async (_, path) => {
    const { server } = await startServer()
    const head = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 'latin1')
    const answer = await rawRequest(server.port, head)
    expect(answer.status).toBe(400)
    // Node answers bytes as they are by itself.
    if (!/[\x80-\xff]/.test(path)) expect(answer.body).toContain('invalid_request')
  })

  test('what is encoded twice is an id like any other', async () => {
    const { server, runtime } = await startServer()
    await (await runtime.conversation('%ff', { agent: 'helper' }).send('Hi')).outcome()
    expect((await fetch(`${server.url}/conversations/%25ff`)).status).toBe(200)
    expect((await fetch(`${server.url}/conversations/%2525ff`)).status).toBe(404)
  })
})

describe('an id that a URL takes for a step', () => {
  test.each(['.', '..'])('is refused where something new would have it: %j', async (id) => {
    const { server, client, runtime } = await startServer()
    await (await runtime.conversation('c', { agent: 'helper' }).send('Hi')).outcome()
    await runtime.flow('greeting', 's').start('Hello')
    const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }
    const posts: [string, object][] = [
      ['/ui/helper', { id, messages: [message], trigger: 'submit-message' }],
      ['/conversations/c/fork', { id }],
      ['/flows/greeting/sessions/s/fork', { id }],
    ]
    for (const [path, body] of posts) {
      const answer = await fetch(server.url + path, { method: 'POST', headers: json, body: JSON.stringify(body) })
      expect([path, answer.status, await answer.json()]).toMatchObject([path, 400, { code: 'invalid_id' }])
    }
    await expect(runtime.conversation(id, { agent: 'helper' }).send('Hi')).rejects.toMatchObject({ code: 'invalid_id' })
    await expect(runtime.flow('greeting', id).start('Hello')).rejects.toMatchObject({ code: 'invalid_id' })
    const { conversations } = await client.conversations()
    expect(conversations.map((record) => record.id).toSorted()).toEqual(['c', 's'])
    const named = { name: id, model: scriptedModel('Hi') }
    expect(() => defineAgent(named)).toThrow(/no path of a URL/)
  })

  test('is read, answered and deleted as ever where it is there already', async () => {
    const driver = memoryDriver()
    const [store, older] = [createStore(driver, { logger: silentLogger }), { tenant: 'default', id: '..' }]
    // As a version wrote it that had no such rule.
    const known = createStore({ ...driver, getConversation: async () => ({}) as never }, { logger: silentLogger })
    await known.forTenant(older.tenant).appendEvent(older.id, { type: 'titled', content: { title: 'Old' } })
    const agent = defineAgent({ name: 'helper', model: scriptedModel(() => 'Hello.') })
    const runtime = createRuntime({ agents: [agent], store, logger: silentLogger })
    const chat = runtime.conversation('..', { agent: 'helper' })
    expect((await chat.view()).title).toBe('Old')
    expect(await (await chat.send('Hi')).outcome()).toMatchObject({ status: 'completed', text: 'Hello.' })
    expect(await chat.delete()).toBe(true)
    await expect(chat.send('Hi')).rejects.toMatchObject({ code: 'invalid_id' })
    await runtime.close()
    await store.close()
  })
})

const odd = [
  'javascript:alert(1)',
  'JavaScript:alert(1)',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  'javascript://example.com/%0aalert(1)',
  'file:///etc/passwd',
  'blob:https://example.com/0b7b1a52',
  'vbscript:msgbox(1)',
  'ftp://example.com/a.png',
  'about:blank',
  'chrome://settings',
  'perdure:x',
  '//example.com/a.png',
  '/a.png',
  `https://example.com/${'x'.repeat(10_000)}`,
]

describe('the address of a file', () => {
  test.each(odd)('%j is refused, however it is sent', async (data) => {
    const { server, runtime } = await startServer()
    const part = { type: 'file', mediaType: 'image/png', data } as const
    await expect(runtime.conversation('c', { agent: 'helper' }).send([part])).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('http, https or data'),
    })
    const sent = await fetch(`${server.url}/conversations/c/messages`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ agent: 'helper', message: [part] }),
    })
    const file = { type: 'file', mediaType: 'image/png', url: data }
    const page = await fetch(`${server.url}/ui/helper`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({
        id: 'c',
        trigger: 'submit-message',
        messages: [{ id: 'm', role: 'user', parts: [file] }],
      }),
    })
    for (const answer of [sent, page])
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'invalid_argument'])
    expect(await runtime.conversations()).toEqual([])
  })

  test.each([
    ['data:text/plain;base64,SGVsbG8=', 'Hello'],
    ['data:,Hello%20%C3%A9%ff%', 'Hello é\xff%'],
    ['DATA:text/plain;charset=utf-8,Hello', 'Hello'],
    ['data:text/plain;base64,SGVs%62G8=', 'Hello'],
  ])('%s holds the file, which goes into a blob', async (data, text) => {
    const { runtime } = await startServer()
    const chat = runtime.conversation('c', { agent: 'helper' })
    await (await chat.send([{ type: 'file', mediaType: 'text/plain', data }])).outcome()
    const [first] = await chat.events()
    const part = first?.type === 'user_msg' ? first.content.message.parts[0] : undefined
    if (part?.type !== 'file' || typeof part.data === 'string') throw new Error('it should be a blob')
    const { pieces } = (await runtime.inspect('c').file(part.data.blob))!
    const expected = Buffer.concat(
      [...text].map((letter) => Buffer.from(letter, letter === '\xff' ? 'latin1' : 'utf8')),
    )
    const read: Uint8Array[] = []
    for await (const piece of pieces) read.push(piece)
    expect(Buffer.concat(read)).toEqual(expected)
  })

  test.each([
    'data:',
    'data:text/plain;base64',
    'data:text/plain;base64,not base64!',
    `data:,${'x'.repeat(17 * 1024 * 1024)}`,
  ])('what cannot be read, or is too long, is refused', async (data) => {
    const { runtime } = await startServer()
    const sending = runtime.conversation('c', { agent: 'helper' }).send([{ type: 'file', mediaType: 'a/b', data }])
    await expect(sending).rejects.toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('data:') })
  })

  test('of a generated file, and of a source, is on the web, or pages do not get it', async () => {
    const finish = {
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'end' },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    }
    const model = modelOf([
      () =>
        streamOf([
          { type: 'text-delta', id: '0', delta: 'Look.' },
          ...[...odd, 'https://example.com/a.png'].flatMap((address) => [
            { type: 'file', mediaType: 'image/png', data: { type: 'url', url: address } },
            { type: 'source', sourceType: 'url', id: 's', url: address, title: 'A source' },
          ]),
          finish,
        ]),
    ])
    const { server, runtime } = await startServer({ agents: [defineAgent({ name: 'helper', model })] })
    const chat = runtime.conversation('c', { agent: 'helper' })
    expect(await (await chat.send('Hi')).outcome()).toMatchObject({ status: 'completed' })
    for (const path of ['/conversations/c/view', '/conversations/c/events', '/ui/helper/c/messages']) {
      const text = await (await fetch(server.url + path)).text()
      expect(text).toContain('https://example.com/a.png')
      expect(text).not.toMatch(/script|passwd|ftp:|blob:http|chrome:|perdure:|"\/\/example|"\/a\.png|xxxx/)
    }
  })

  test('in a log that is older than the rule is not shown, nor given to a model', async () => {
    const model = scriptedModel(() => 'Hello.')
    const { server, runtime, store } = await startServer({ model })
    const message = { parts: [{ type: 'file', mediaType: 'image/png', data: 'javascript:alert(1)' }] } as const
    await store.appendEvent('c', {
      type: 'user_msg',
      content: { turnId: 't1', message, options: {}, who: 'ann' },
    } as Pick<LogEvent & { type: 'user_msg' }, 'type' | 'content'>)
    await store.putConversation('c', { agent: 'helper' })
    await (await runtime.conversation('c', { agent: 'helper' }).send('Hi', { whenBusy: 'queue' })).outcome()
    for (const path of [
      '/conversations/c/view',
      '/conversations/c/events',
      '/conversations/c/history',
      '/ui/helper/c/messages',
    ])
      expect(await (await fetch(server.url + path)).text()).not.toContain('javascript')
    expect(JSON.stringify(model.calls)).not.toContain('javascript')
  })
})
