import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterEach, expect, inject, test } from 'vitest'
import { until } from '../../../test/stories/until.ts'
import { startFaultyProxy } from '../../../test/support/faulty-proxy.ts'
import { silentLogger } from '../../base/logger.ts'
import { maxTextBytes } from '../live-bus.ts'
import { PostgresLiveBus } from './live-bus.ts'

const run = promisify(execFile)
const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const limits = { connectTimeoutMs: 5_000, answerTimeoutMs: 5_000, hintCheckMs: 200, logger: silentLogger }
let schemas = 0

/** A node on a bus of its own, as in a process of its own. */
async function node(schema: string, connectionString = inject('postgresUrl')) {
  const bus = new PostgresLiveBus({ ...limits, connectionString, schema })
  const heard: [string, string][] = []
  let connections = 0
  const link = bus.join({
    message: (from, text) => void heard.push([from, text]),
    connected: () => void (connections += 1),
  })
  closing.push(() => bus.close())
  link.open()
  await until(() => connections > 0)
  return { link, heard, connections: () => connections }
}

function newSchema(): string {
  schemas += 1
  return `live_bus_${process.pid}_${schemas}`
}

test('texts arrive whole and in order at the node they are for, or at all others (postgres)', async () => {
  const schema = newSchema()
  const [a, b, c] = [await node(schema), await node(schema), await node(schema)]
  const other = await node(newSchema())
  const long = `${'ü€😀\u0001'.repeat(5_000)}end`
  expect(Buffer.byteLength(long)).toBeLessThan(maxTextBytes)
  const batch = [
    { to: null, text: 'to all' },
    { to: b.link.name, text: long },
    { to: b.link.name, text: 'again' },
    { to: b.link.name, text: 'again' },
  ]
  expect(await a.link.send(batch)).toBe(true)
  await until(() => b.heard.length === 4)
  const from = a.link.name
  expect(b.heard).toEqual([from, from, from, from].map((name, n) => [name, batch[n]!.text]))
  await until(() => c.heard.length === 1)
  expect([a.heard, c.heard, other.heard]).toEqual([[], [[from, 'to all']], []])
})

test('what any client notifies is taken for a text only where it is one (postgres)', async () => {
  const schema = newSchema()
  const [a, b] = [await node(schema), await node(schema)]
  const client = new pg.Client(inject('postgresUrl'))
  await client.connect()
  closing.push(() => client.end())
  const { rows } = await client.query<{ channel: string }>(
    `SELECT 'perdurelive_' || left(encode(sha256($1::text::bytea), 'hex'), 16) AS channel`,
    [schema],
  )
  const from = 'f'.repeat(16)
  const hostile = [
    '',
    'x',
    '{}',
    `${from}.1.2.1\nx`,
    `${from}.1.1.99\nx`,
    `${from}.2.2.2\nx`,
    `${from}.3.1.2\nx`,
    `${from}.4.2.2\nx`,
    `${from}.${'9'.repeat(500)}.1.1\nx`,
  ]
  for (const payload of hostile) await client.query('SELECT pg_notify($1, $2)', [rows[0]!.channel, payload])
  await a.link.send([{ to: null, text: 'sound' }])
  await until(() => b.heard.length > 0)
  expect(b.heard).toEqual([[a.link.name, 'sound']])
})

test('a connection that is cut or goes silent is replaced, and the node hears that it was (postgres)', async () => {
  const proxy = await startFaultyProxy(inject('postgresUrl'))
  closing.push(() => proxy.close())
  const schema = newSchema()
  const [a, b] = [await node(schema), await node(schema, proxy.url)]
  proxy.cut()
  await until(() => b.connections() === 2)
  expect(await a.link.send([{ to: b.link.name, text: 'after the cut' }])).toBe(true)
  await until(() => b.heard.length === 1)
  expect(b.heard[0]![1]).toBe('after the cut')
  await proxy.close()
  await until(async () => !(await b.link.send([{ to: null, text: 'into the void' }])))
})

test('a process that only closes the bus waits until it is closed (postgres)', async () => {
  const program = `
    import { PostgresLiveBus } from ${JSON.stringify(join(import.meta.dirname, 'live-bus.ts'))}
    const logger = { debug() {}, info() {}, warn() {}, error() {} }
    const bus = new PostgresLiveBus({ connectTimeoutMs: 5_000, answerTimeoutMs: 5_000, hintCheckMs: 200, logger,
      connectionString: process.env.DATABASE_URL, schema: '${newSchema()}' })
    const busy = setInterval(() => {}, 1_000)
    await new Promise((connected) => bus.join({ message() {}, connected }).open())
    clearInterval(busy)
    await bus.close()
    console.log('closed')
  `
  const env = { ...process.env, DATABASE_URL: inject('postgresUrl') }
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { env })
  expect(stdout).toBe('closed\n')
})
