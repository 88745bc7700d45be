import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Upkeep } from '../../src/store/upkeep.ts'
import { until } from '../stories/until.ts'
import { exported } from '../upkeep/exported.ts'
import { startServer } from './start-server.ts'

const isOperator = (): boolean => true

test('a client that takes nothing of an export loses its connection, and its place is free', async () => {
  const { store, isOpen } = endlessStore()
  const limits = { upkeep: 1, stallMs: 100 }
  const { server } = await startServer({ serve: { limits, upkeep: { store, isOperator } } })
  const stalled = await ask(server.port, '/store/export')
  stalled.on('error', () => {})
  expect(isOpen()).toBe(1)
  await until(() => isOpen() === 0)
  const again = await ask(server.port, '/store/export')
  expect(again.statusCode).toBe(200)
  again.destroy()
  // What was on its way is still read, and is told from a whole export by how it ends.
  const [{ code }] = (await Promise.all([once(stalled.removeAllListeners('error'), 'error'), stalled.resume()]))[0]
  expect(code).toBe('ECONNRESET')
})

test('an import of which nothing comes ends with what to do, and its place is free', async () => {
  const limits = { upkeep: 1, stallMs: 100, heartbeatMs: 10 }
  const { server } = await startServer({ serve: (store) => ({ limits, upkeep: { store, isOperator } }) })
  for (const path of ['/store/import', '/store/comparison']) {
    const socket = connect(server.port, '127.0.0.1')
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000\r\n`
    socket.write(`${head}\r\n{"format":`)
    const answer = (await socket.setEncoding('utf8').toArray()).join('')
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(answer).toMatch(/"type":"problem".*"code":"request_timed_out".*No more of the body arrived within 100 ms/)
  }
  expect((await ask(server.port, '/store/export')).resume().statusCode).toBe(200)
})

test('what moves is never cut off, however slow it is and however long it takes', { timeout: 60_000 }, async () => {
  // A busy machine may itself stand still for longer than the first limit. What cuts off what moves does so under both.
  await readAndWriteSlowly(1_500).catch(() => readAndWriteSlowly(8_000))
})

async function readAndWriteSlowly(stallMs: number): Promise<void> {
  const limits = { stallMs }
  const longMs = 3 * limits.stallMs
  // A single line takes longer than that, and longer than twice that.
  const { store, isOpen } = endlessStore(30_000_000)
  const { server: endless } = await startServer({ serve: { limits, upkeep: { store, isOperator } } })
  const { server, store: copy } = await startServer({
    serve: (own) => ({ limits, upkeep: { store: own, isOperator } }),
  })
  const source = memoryStore()
  await source.putConversation('c-1', { agent: 'helper' })
  const text = await exported(source)

  async function readSlowly(): Promise<void> {
    const reading = await ask(endless.port, '/store/export')
    reading.on('error', () => {})
    const until = performance.now() + longMs
    while (performance.now() < until) {
      // So little at a time that everything on the way is full.
      for (let taken = 0; taken < 300_000; ) taken += ((await nextOf(reading)) as Buffer).length
      await pause(50)
    }
    expect(isOpen()).toBe(1)
    reading.destroy()
  }
  async function writeSlowly(): Promise<void> {
    const writing = httpRequest(`${server.url}/store/import`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
    })
    const answered = once(writing, 'response')
    writing.on('error', () => {})
    const until = performance.now() + longMs
    let sent = 0
    for (; performance.now() < until && sent < text.length - 1; sent++) {
      writing.write(text[sent])
      await pause(20)
    }
    writing.end(text.slice(sent))
    const [answer] = (await answered) as [IncomingMessage]
    expect((await answer.setEncoding('utf8').toArray()).join('')).toContain('"type":"result","conversations":1')
    expect(await exported(copy)).toBe(text)
  }
  await Promise.all([readSlowly(), writeSlowly()])
}

async function nextOf(reading: IncomingMessage): Promise<unknown> {
  for (;;) {
    const chunk = reading.read() as unknown
    if (chunk !== null) return chunk
    await once(reading, 'readable')
  }
}

async function ask(port: number, path: string): Promise<IncomingMessage> {
  const asking = httpRequest({ port, host: '127.0.0.1', path }).end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  return answer
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Has conversations to tell of for ever. */
function endlessStore(lineLength = 500_000) {
  let open = 0
  const row = {
    type: 'event',
    row: { seq: 1, at: 1, type: 'titled', content: `{"title":"${'x'.repeat(lineLength)}"}` },
  }
  const reader = {
    count: async () => 100,
    async *tenants() {
      yield 'default'
    },
    async *blobs() {},
    async *conversations() {
      for (let n = 0; ; n++) yield { ...head, id: `c-${n}` }
    },
    async *rows() {
      await new Promise((resolve) => setImmediate(resolve))
      yield row
    },
  }
  const upkeep = {
    async snapshot(work: (reader: never) => Promise<unknown>) {
      open += 1
      try {
        return await work(reader as never)
      } finally {
        open -= 1
      }
    },
  } as unknown as Upkeep
  return { store: { ...memoryStore(), upkeep }, isOpen: () => open }
}

const head = {
  ...{ kind: 'conversation', agent: 'helper', status: 'idle', settings: '{}', fsmState: null, title: null },
  ...{ parent: null, createdAt: 1, updatedAt: 1, lastSeq: 1, childOf: null, wakeAt: null, isDormant: false },
}
