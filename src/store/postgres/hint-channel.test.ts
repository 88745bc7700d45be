import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import { HintChannel } from './hints.ts'

/** Stands for a database that the tests take away and bring back. */
const database = vi.hoisted(() => ({ isUp: true, queries: [] as string[], attempts: [] as number[] }))
const clients: EventEmitter[] = []

vi.mock('pg', () => ({
  default: {
    Client: class extends EventEmitter {
      async connect() {
        database.attempts.push(Date.now())
        if (!database.isUp) throw new Error('refused')
        clients.push(this)
      }
      async query({ text }: { readonly text: string }) {
        if (!database.isUp) throw new Error('broken')
        database.queries.push(text)
      }
      ref() {}
      unref() {}
      async end() {}
    },
  },
}))

const told: string[] = []
const logger = {
  ...silentLogger,
  warn: (message: string) => void told.push(`warn: ${message}`),
  info: (message: string) => void told.push(`info: ${message}`),
}
const options = {
  connectionString: '',
  directConnectionString: null,
  schema: 's',
  connectTimeoutMs: 1,
  answerTimeoutMs: 1,
  hintCheckMs: 1e9,
  logger,
}
const broke = 'warn: the connection for hints broke; work is found by polling until it is back'
const back = 'info: the connection for hints is back'
const notified = () => database.queries.filter((text) => text.includes('pg_notify')).length

let channel: HintChannel

beforeEach(() => {
  vi.useFakeTimers()
  Object.assign(database, { isUp: true, queries: [], attempts: [] })
  clients.length = 0
  told.length = 0
  channel = new HintChannel(options)
})

afterEach(async () => {
  const closing = channel.close()
  await vi.advanceTimersByTimeAsync(2_000)
  await closing
  vi.useRealTimers()
})

/** The times between attempts to connect while the database is away, after it was there. */
async function delaysAfterBreak(): Promise<number[]> {
  database.attempts.length = 0
  const brokenAt = Date.now()
  database.isUp = false
  clients.at(-1)!.emit('end')
  await vi.advanceTimersByTimeAsync(10_000)
  return database.attempts.map((at, n) => at - (database.attempts[n - 1] ?? brokenAt))
}

test('a connection that broke is tried again after longer and longer pauses, which begin anew once it is back', async () => {
  let missed = 0
  channel.listen(
    () => {},
    () => {
      missed += 1
    },
  )
  await vi.advanceTimersByTimeAsync(0)
  const question = 'SELECT pg_notify($1, $2)'
  expect(database.queries).toEqual(['SET synchronous_commit = off', 'LISTEN "perdure_s"', question])
  const delays = [50, 200, 1_000, 3_000, 3_000]
  expect(await delaysAfterBreak()).toEqual(delays)
  expect([told, missed]).toEqual([[broke], 0])
  database.isUp = true
  await vi.advanceTimersByTimeAsync(3_000)
  expect([told, missed]).toEqual([[broke, back], 1])
  expect(await delaysAfterBreak()).toEqual(delays)
  expect(told).toEqual([broke, back, broke])
})

test('hints are sent twenty milliseconds apart, and a second after one could not be sent', async () => {
  const send = async (seq: number, ms: number) => {
    channel.send({ tenant: 'acme', id: 'chat', seq })
    await vi.advanceTimersByTimeAsync(ms)
    return notified()
  }
  expect(await send(1, 0)).toBe(1)
  expect(await send(2, 19)).toBe(1)
  expect(await send(3, 1)).toBe(2)
  await vi.advanceTimersByTimeAsync(20)
  database.isUp = false
  expect(await send(4, 0)).toBe(2)
  expect(told).toEqual([broke])
  database.isUp = true
  expect(await send(5, 999)).toBe(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(notified()).toBe(3)
})

test('a hint that hands a message to a worker waits two milliseconds at most for the one before, and takes others along', async () => {
  const send = async (seq: number, ms: number, taker?: string | null) => {
    channel.send({ tenant: 'acme', id: `chat-${seq}`, seq, ...(taker === undefined ? {} : { taker }) })
    await vi.advanceTimersByTimeAsync(ms)
    return notified()
  }
  expect(await send(1, 0, 'one')).toBe(1)
  expect(await send(2, 1, 'one')).toBe(1)
  expect(await send(3, 1, 'one')).toBe(2)
  expect(await send(4, 10)).toBe(2)
  expect(await send(5, 0, 'one')).toBe(3)
  // It took the fourth along.
  await vi.advanceTimersByTimeAsync(50)
  expect(notified()).toBe(3)
  // What is handed over later takes its place in the queue with it.
  expect(await send(6, 0)).toBe(4)
  expect(await send(7, 5, null)).toBe(4)
  channel.send({ tenant: 'acme', id: 'chat-7', seq: 8, taker: 'one' })
  await vi.advanceTimersByTimeAsync(0)
  expect(notified()).toBe(5)
})

test('a connection over which workers announce themselves is not checked beside that, and any other is', async () => {
  await channel.close()
  channel = new HintChannel({ ...options, hintCheckMs: 10_000 })
  channel.listen(() => {})
  const checks = async (): Promise<number> => {
    database.queries.length = 0
    await vi.advanceTimersByTimeAsync(60_000)
    return database.queries.filter((text) => text === 'SELECT 1').length
  }
  expect(await checks()).toBe(6)
  const leave = channel.announce({ holder: 'one', agents: () => ['desk'] })
  expect(await checks()).toBe(0)
  leave()
  expect(await checks()).toBe(6)
})

test('a channel that is closed sends nothing and does not connect again', async () => {
  channel.listen(() => {})
  await vi.advanceTimersByTimeAsync(0)
  const asked = notified()
  await channel.close()
  channel.send({ tenant: 'acme', id: 'chat', seq: 1 })
  expect(await delaysAfterBreak()).toEqual([])
  expect([notified() - asked, told]).toEqual([0, []])
})
