import { connect } from 'node:net'
import { expect, test } from 'vitest'
import type { NewEvent } from '../../src/log/events.ts'
import type { Store } from '../../src/store/store.ts'
import { called, ended, replied, said, started, suspended } from '../log/story.ts'
import { startServer } from './start-server.ts'

const answerBytes = 200_000
const limits = { answerBytes, unsentBytes: 2 * answerBytes }
const text = 'x'.repeat(50_000)

function gave(callId: string): NewEvent {
  return { type: 'tool_result', content: { callId, ok: true, result: text } }
}

/** A turn of so many steps that gave much each; it waits for an approval. */
function longTurn(steps: number): NewEvent[] {
  const step = (n: number): NewEvent[] => {
    const callId = `c${n}`
    return [replied('t1', `m${n}`, 1, { calls: [callId] }), called(callId), started(callId), gave(callId)]
  }
  const last = [
    replied('t1', 'last', 1, { calls: ['last'] }),
    called('last', { gated: true }),
    suspended('last', 'approval'),
  ]
  return [said('t1'), ...Array.from({ length: steps }, (_, n) => step(n)).flat(), ...last]
}

async function fill(store: Store, id: string, events: readonly NewEvent[]): Promise<void> {
  await store.commit(id, { events: events.slice(0, 1), conversation: { agent: 'helper' }, wakeAt: null })
  const { epoch } = (await store.acquireLease(id, 'filler', 60_000))!
  await store.commit(id, { events: events.slice(1), epoch, wakeAt: null, lease: 'release' })
}

async function ask(url: string, path: string): Promise<{ bytes: number; body: Record<string, unknown> }> {
  const response = await fetch(url + path)
  const body = await response.text()
  expect([path, response.status]).toEqual([path, 200])
  expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(body)))
  return { bytes: Buffer.byteLength(body), body: JSON.parse(body) }
}

test('no answer is larger than the limit, and following its cursors reads everything once', async () => {
  const { server, store } = await startServer({ serve: { limits } })
  await fill(store, 'long', longTurn(20))
  const read = async (
    path: string,
    list: string,
    cursor: 'after' | 'before',
    from: string | null = null,
  ): Promise<unknown[][]> => {
    const pages: unknown[][] = []
    for (let query = from === null ? '' : `&${cursor}=${from}`; ; ) {
      const { bytes, body } = await ask(server.url, `${path}?limit=100${query}`)
      expect(bytes).toBeLessThan(answerBytes + 1_000)
      pages.push(body[list] as unknown[])
      if (body[cursor] === null) return pages
      query = `&${cursor}=${body[cursor]}`
    }
  }
  const onwards = (await read('/conversations/long/events', 'events', 'after', '0')).flat()
  expect(onwards.map((event) => (event as { seq: number }).seq)).toEqual(Array.from({ length: 84 }, (_, n) => n + 1))
  const back = (await read('/conversations/long/events', 'events', 'before')).reverse().flat()
  expect(back).toEqual(onwards)
  const messages = (await read('/conversations/long/history', 'messages', 'before')).reverse().flat()
  expect(messages).toHaveLength(22)
  const shown = (await read('/ui/helper/long/messages', 'messages', 'before')).reverse().flat() as UiMessage[]
  expect(shown.flatMap(({ parts }) => parts.filter(({ type }) => type === 'step-start'))).toHaveLength(21)
  expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length)
  expect(shown.at(-1)).toMatchObject({ id: 't1', metadata: { status: 'waiting' } })
  expect(shown.at(-2)).toMatchObject({ metadata: { status: 'continued' } })
})

type UiMessage = { readonly id: string; readonly parts: readonly { readonly type: string }[] }

test('a view fits in an answer, and says where the rest is', async () => {
  const { server, store, client } = await startServer({ serve: { limits } })
  await fill(store, 'long', longTurn(20))
  const { bytes, body } = await ask(server.url, '/conversations/long/view')
  expect(bytes).toBeLessThan(answerBytes)
  expect(body['pending']).toMatchObject([{ callId: 'last' }])
  const older = await client.conversation('long').history({ before: body['before'] as number })
  const messages = [...older.messages, ...(body['messages'] as { seq: number }[])]
  expect(older.messages.at(-1)!.seq).toBeLessThan(body['before'] as number)
  expect(messages.map(({ seq }) => seq)).toEqual(messages.map(({ seq }) => seq).toSorted((one, other) => one - other))
})

test('a single event that is larger than an answer is sent whole', async () => {
  const { server, store } = await startServer({ serve: { limits: { answerBytes: 10_000 } } })
  await fill(store, 'long', longTurn(2))
  const { body } = await ask(server.url, '/conversations/long/events?after=4&limit=5')
  expect(body).toMatchObject({ events: [{ seq: 5, content: { result: text } }], after: 5, before: null })
})

test('a live stream begins with a snapshot that fits, and catches up event by event', async () => {
  const { server, store, client } = await startServer({ serve: { limits } })
  await fill(store, 'long', longTurn(20))
  const response = await fetch(`${server.url}/conversations/long/live`)
  const reader = response.body!.getReader()
  let received = ''
  while (!received.includes('\n\ndata') && !/data: .*\n\n/.test(received)) {
    const { value } = await reader.read()
    received += Buffer.from(value!).toString()
  }
  await reader.cancel()
  const [data] = /data: \{"type":"snapshot".*\n\n/.exec(received) ?? ['']
  expect(data.length).toBeGreaterThan(1_000)
  expect(data.length).toBeLessThan(answerBytes + 1_000)
  const seqs: number[] = []
  for await (const { event } of client.conversation('long').watch({ after: 0 })) {
    if ('content' in event) seqs.push(event.seq)
    if (seqs.at(-1) === 84) break
  }
  expect(seqs).toEqual(Array.from({ length: 84 }, (_, n) => n + 1))
})

test('the client follows what was cut: events, model calls, attempts, explanations, records and lineages', async () => {
  const { store, client } = await startServer({ serve: { limits, showPrompts: true } })
  await fill(store, 'long', longTurn(20))
  for (let n = 0; n < 12; n++) {
    const turnRef = n < 9 ? 'turn/1' : `turn/${n}`
    await store.putModelCall('long', {
      turnRef,
      latencyMs: n,
      renderedContext: text,
      evictions: { seen: 84, evicted: [], pad: text },
    })
  }
  const chat = client.conversation('long')
  expect((await chat.events({ after: 0, limit: 60 })).map(({ seq }) => seq)).toEqual(
    Array.from({ length: 60 }, (_, n) => n + 1),
  )
  expect((await chat.events({ limit: 60 })).map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, n) => n + 25))
  const pages: number[] = []
  for await (const events of chat.eventPages({ after: 0 })) pages.push(events.length)
  expect(pages.length).toBeGreaterThan(3)
  expect(pages.reduce((sum, count) => sum + count, 0)).toBe(84)
  expect((await chat.modelCalls()).map(({ latencyMs }) => latencyMs)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 9])
  expect((await chat.modelCall('turn/1')).map(({ latencyMs }) => latencyMs)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  expect(await chat.explain('turn/1')).toHaveLength(84)
})

test('lists go on where a page was cut for its bytes', async () => {
  const { server, store, client } = await startServer({ serve: { limits } })
  for (let n = 0; n < 10; n++) await store.putConversation(`c${n}`, { title: text.slice(0, 1_000), settings: { text } })
  const found: string[] = []
  for (let before: string | null = ''; before !== null; ) {
    const page: Awaited<ReturnType<typeof client.conversations>> = await client.conversations(
      before === '' ? {} : { before },
    )
    expect(page.conversations.length).toBeLessThan(5)
    found.push(...page.conversations.map(({ id }) => id))
    before = page.before
  }
  expect(found.toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => `c${n}`))
  await fill(store, 'asking', longTurn(0))
  for (let n = 0; n < 10; n++) await store.upsertToolCall('asking', { id: `call-${n}`, name: 'pay', args: text })
  const calls: string[] = []
  for (let before: string | null = ''; before !== null; ) {
    const { body } = await ask(server.url, `/inbox?limit=100${before === '' ? '' : `&before=${before}`}`)
    calls.push(...(body['items'] as { callId: string }[]).map(({ callId }) => callId))
    before = body['before'] as string | null
  }
  expect(calls.filter((id) => id !== 'last').toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => `call-${n}`))
})

test('clients that take nothing of their answers hold up the others for a moment, and are cut off', async () => {
  const { server, store } = await startServer({ serve: { limits: { answerBytes: 4_000_000, unsentBytes: 8_000_000 } } })
  const big = 'x'.repeat(900_000)
  for (let n = 0; n < 8; n++) {
    const message = { parts: [{ type: 'text' as const, text: big }] }
    await store.commit('big', {
      events: [{ type: 'user_msg', content: { turnId: `t${n}`, message, options: {}, who: 'ann' } }, ended(`t${n}`)],
      conversation: { agent: 'helper' },
      wakeAt: null,
    })
  }
  const sockets = Array.from({ length: 6 }, () => {
    const socket = connect(server.port, '127.0.0.1').pause()
    socket.on('error', () => {})
    socket.write(`GET /conversations/big/events HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`)
    return socket
  })
  const { body } = await ask(server.url, '/conversations/big/events')
  expect((body['events'] as unknown[]).length).toBeGreaterThan(2)
  for (const socket of sockets) socket.destroy()
})

test('a file is sent in pieces, whole', async () => {
  const { server, store } = await startServer()
  const bytes = Uint8Array.from({ length: 2_500_000 }, (_, index) => index % 251)
  const ref = await store.putBlob(bytes, 'image/png')
  const part = { type: 'file' as const, mediaType: 'image/png', data: ref }
  const content = { turnId: 't', message: { parts: [part] }, options: {}, who: 'ann' }
  await store.commit('c', { events: [{ type: 'user_msg', content }], conversation: { agent: 'helper' }, wakeAt: null })
  const response = await fetch(`${server.url}/conversations/c/files/${ref.blob}`)
  expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), bytes)).toBe(0)
})

test('how a turn ended is told also where it is not shown any more', async () => {
  const { store, client } = await startServer()
  await fill(store, 'c', [said('old'), replied('old', 'm', 1), ended('old')])
  for (let n = 0; n < 12; n++) {
    const message = { parts: [{ type: 'text' as const, text: 'x'.repeat(900_000) }] }
    await store.commit('c', {
      events: [{ type: 'user_msg', content: { turnId: `t${n}`, message, options: {}, who: 'ann' } }, ended(`t${n}`)],
      wakeAt: null,
    })
  }
  const chat = client.conversation('c')
  expect((await chat.view()).messages.some(({ turnId }) => turnId === 'old')).toBe(false)
  expect(await chat.outcome('old')).toMatchObject({ status: 'completed', text: 'this is m' })
  await expect(chat.outcome('never')).rejects.toMatchObject({ code: 'turn_not_found' })
})

/** Of a turn that has begun, and that no worker takes up. */
function asked(length: number): NewEvent {
  const message = { parts: [{ type: 'text' as const, text: 'x'.repeat(length) }] }
  return { type: 'user_msg', content: { turnId: 't1', message, options: {}, who: 'ann' } }
}

const waiting = (id: string): string => `/conversations/${id}/turns/t1/outcome?waitMs=25000`
const moment = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 300))

test('a request for the outcome of a turn reserves memory like any other', async () => {
  const { server, store } = await startServer({ serve: { limits: { answerBytes, unsentBytes: answerBytes } } })
  await fill(store, 'long', longTurn(20))
  await fill(store, 'large', [asked(75_000)])
  const first = ask(server.url, waiting('large'))
  await moment()
  expect((await ask(server.url, waiting('long'))).body['status']).toBe('waiting')
  // The other was sent away for it, long before its time was up.
  const tooLate = new Promise((resolve) => setTimeout(() => resolve({ body: 'nothing' }), 5_000))
  expect(await Promise.race([first, tooLate])).toMatchObject({ body: { status: 'running' } })
})

test('those who wait for a turn hold what they know of it, and make room where others need it', async () => {
  const { server, store } = await startServer({ serve: { limits } })
  await fill(store, 'small', [asked(10)])
  await fill(store, 'large', [asked(150_000)])
  const small = Array.from({ length: 10 }, () => fetch(server.url + waiting('small')))
  await moment()
  expect((await ask(server.url, '/conversations/small/view')).body['seq']).toBe(1)
  const large = Promise.race([1, 2].map(() => ask(server.url, waiting('large'))))
  await moment()
  const begun = performance.now()
  await ask(server.url, '/conversations/large/view')
  expect((await large).body).toEqual({ status: 'running', turnId: 't1' })
  expect(performance.now() - begun).toBeLessThan(15_000)
  await store.commit('small', { events: [ended('t1')], wakeAt: null })
  for (const response of await Promise.all(small)) expect(await response.json()).toMatchObject({ turnId: 't1' })
})
