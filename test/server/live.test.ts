import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { projectView, type WatchEvent } from '../../src/view/growing-view.ts'
import type { View } from '../../src/view/view.ts'
import { pacedModel } from '../stories/paced-model.ts'
import { until } from '../stories/until.ts'
import { connect, type Received } from './sse-connection.ts'
import { startServer } from './start-server.ts'

const isEnd = ({ type }: WatchEvent) => type === 'turn_completed'

test('a page opened in the middle of a message gets the text so far, and then the rest', async () => {
  const { client, server, model } = await startPaced()
  await client.conversation('c', { agent: 'helper' }).send('Hi')
  const call = await model.called(1)
  for (const piece of ['One ', 'two ']) call.say(piece)
  await until(async () => (await client.conversation('c').view()).drafts[0]?.n === 2)
  const page = await connect(`${server.url}/conversations/c/live`)
  const first = await page.next()
  expect(first?.event).toMatchObject({ type: 'snapshot', view: { drafts: [{ n: 2, parts: [{ text: 'One two ' }] }] } })
  call.answer('three.')
  const rest = await page.until(isEnd)
  expect(textOf(project([first!, ...rest]))).toBe('One two three.')
  page.cut()
})

test('a client that was cut off anywhere continues after its last event, with no gap and no repeat', async () => {
  const { client, server, model } = await startPaced()
  const url = `${server.url}/conversations/c/live`
  await client.conversation('c', { agent: 'helper' }).send('Hi')
  const call = await model.called(1)
  const whole = await connect(url)
  const seen: Received[] = [(await whole.next())!]
  for (let n = 1; n <= 20; n++) call.say(`${n} `)
  call.finish()
  seen.push(...(await whole.until(isEnd)))
  for (const [index, { id }] of seen.entries()) {
    if (index === seen.length - 1) continue
    const again = await connect(url, id)
    const rest = await again.until(isEnd)
    again.cut()
    expect(rest).toEqual(seen.slice(index + 1))
  }
  whole.cut()
})

test('a place that is no longer kept gives the log since then and a snapshot of what is live', async () => {
  const { client, server, model } = await startPaced({ limits: { streamBytes: 2_000 } })
  const url = `${server.url}/conversations/c/live`
  await client.conversation('c', { agent: 'helper' }).send('Hi')
  const call = await model.called(1)
  const page = await connect(url)
  const first = (await page.next())!
  call.say('a')
  const [...begun] = await page.until(({ type }) => type === 'text_delta')
  page.cut()
  for (let n = 0; n < 50; n++) call.say('b')
  await until(async () => (await client.conversation('c').view()).drafts[0]?.n === 51)
  const again = await connect(url, begun.at(-1)!.id)
  const snapshot = (await again.next())!
  expect(snapshot.event).toMatchObject({ type: 'snapshot', view: { drafts: [{ n: 51 }] } })
  call.answer('c')
  const rest = await again.until(isEnd)
  expect(textOf(project([first, ...begun, snapshot, ...rest]))).toBe(`a${'b'.repeat(50)}c`)
  again.cut()
})

test('events since a plain seq come in their order, and then what is live', async () => {
  const { client, server, model } = await startPaced()
  const chat = client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Hi')
  await model.answer(1, 'Hello.')
  await chat.outcome(turnId)
  const page = await connect(`${server.url}/conversations/c/live?after=1`)
  const log = [await page.next(), await page.next()].map((received) => received?.event)
  expect(log).toEqual(await chat.events({ after: 1 }))
  await chat.send('More')
  expect((await page.next())?.event).toMatchObject({ type: 'user_msg', seq: 4 })
  page.cut()
})

test('an id of a log that was deleted and begun anew gives a snapshot of the new one', async () => {
  const { client, server, model } = await startPaced()
  const chat = client.conversation('c', { agent: 'helper' })
  await chat.send('Hi')
  await model.answer(1, 'Hello.')
  const page = await connect(`${server.url}/conversations/c/live`)
  const { id } = (await page.until(({ type }) => type === 'turn_completed' || type === 'snapshot')).at(-1)!
  page.cut()
  const stale = id.replace(/@.*/, '').replace(/-\w+/, '-1')
  const again = await connect(`${server.url}/conversations/c/live`, stale)
  expect((await again.next())?.event.type).toBe('snapshot')
  again.cut()
})

test('an id that no server gave is refused', async () => {
  const { client, server } = await startPaced()
  await client.conversation('c', { agent: 'helper' }).send('Hi')
  for (const id of ['x', '1-', '-1', '1~a', '1@b', '9'.repeat(400)])
    await expect(connect(`${server.url}/conversations/c/live`, id)).rejects.toThrow(/400.*invalid_request/)
})

test('heartbeats come while nothing happens', async () => {
  const { client, server } = await startPaced({ limits: { heartbeatMs: 10 } })
  await client.conversation('c', { agent: 'helper' }).send('Hi')
  const { body } = await fetch(`${server.url}/conversations/c/live`)
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('\n:\n\n:\n\n')) text += (await reader.read()).value
  await reader.cancel()
})

test('a client that left frees its memory, and so does a feed without clients', async () => {
  const { client, server, model } = await startPaced({ limits: { lingerMs: 20 } })
  await client.conversation('c', { agent: 'helper' }).send('Hi')
  const call = await model.called(1)
  const pages = await Promise.all([1, 2, 3].map(() => connect(`${server.url}/conversations/c/live`)))
  for (const page of pages) await page.next()
  expect(server.streams()).toEqual({ clients: 3, conversations: 1 })
  for (const page of pages) page.cut()
  await until(() => server.streams().conversations === 0)
  expect(server.streams()).toEqual({ clients: 0, conversations: 0 })
  call.answer('Bye.')
})

test('asking only for the headers opens no stream', async () => {
  const { client, server } = await startPaced()
  await client.conversation('c', { agent: 'helper' }).send('Hi')
  const answer = await fetch(`${server.url}/conversations/c/live`, { method: 'HEAD' })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  expect(server.streams()).toEqual({ clients: 0, conversations: 0 })
})

test('more streams than allowed are refused', async () => {
  const { client, server } = await startPaced({ limits: { streams: 1 } })
  await client.conversation('c', { agent: 'helper' }).send('Hi')
  const page = await connect(`${server.url}/conversations/c/live`)
  await expect(connect(`${server.url}/conversations/c/live`)).rejects.toThrow(/429.*rate_limited/)
  page.cut()
})

test('a conversation that is deleted under a watcher shows as empty, and cannot be watched again', async () => {
  const { client, server, model } = await startPaced()
  const chat = client.conversation('c', { agent: 'helper' })
  const { turnId } = await chat.send('Hi')
  await model.answer(1, 'Hello.')
  await chat.outcome(turnId)
  const page = await connect(`${server.url}/conversations/c/live`)
  await page.next()
  await chat.delete()
  const { id } = (await page.until((event) => event.type === 'snapshot' && event.view.seq === 0)).at(-1)!
  page.cut()
  const watching = chat.watch({ after: id })
  await expect(watching.next()).rejects.toMatchObject({ code: 'conversation_not_found', status: 404 })
})

async function startPaced(options: { limits?: object } = {}) {
  const model = pacedModel()
  return { ...(await startServer({ model, serve: { logger: silentLogger, ...options } })), model }
}

function project(received: readonly Received[]): View {
  const [first, ...rest] = received.map(({ event }) => event)
  if (first?.type !== 'snapshot') throw new Error('a stream begins with a snapshot')
  return rest.reduce(projectView, first.view)
}

function textOf(view: View): string {
  const message = view.messages.findLast(({ role }) => role === 'assistant')
  return (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}
