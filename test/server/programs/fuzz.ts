import { mkdtempSync, rmSync } from 'node:fs'
import { type RequestOptions, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '../../../src/client/index.ts'
import type { Route } from '../../../src/server/route.ts'
import { allRoutes } from '../../../src/server/routes/all-routes.ts'
import { type SeededRandom, seededRandom } from '../../faults/harness/seeded-random.ts'
import type { Finding } from '../../faults/harness/verdict.ts'
import { hostileMessage, hostileMessages, hostileSchema, hostileText, hostileValue, rawBytes } from './hostile.ts'
import { startChild } from './start-child.ts'

export type FuzzOptions = {
  readonly seed: number
  readonly requests: number
  /** The longest the server may keep everybody waiting with its own work. */
  readonly mostStallMs: number
}

const lanes = 8
const rawShare = 0.1

/** Asks every route for nonsense: it must answer, never with 5xx, and go on answering. */
export async function fuzz({ seed, requests, mostStallMs }: FuzzOptions): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-fuzz-'))
  const server = await startChild({ path: join(folder, 'agents.db'), port: 0, deltas: 3 })
  const statuses: Record<string, number> = {}
  const violations: string[] = []
  const asked = new Set<string>()
  try {
    const client = createClient({ url: server.url })
    for (const id of ['c1', 'c2']) await client.conversation(id, { agent: 'helper' }).send('Hi')
    await server.state()
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        const random = seededRandom(seed * 1000 + lane)
        for (let n = 0; n < requests / lanes; n++) {
          const isRaw = random.chance(rawShare)
          const route = random.pick(allRoutes)
          asked.add(route.name)
          const status = isRaw
            ? await sendRaw(server.port, rawBytes(random, server.port))
            : await ask(server.port, route, random)
          const kind = status === 0 ? 'cut off' : String(status)
          statuses[kind] = (statuses[kind] ?? 0) + 1
          if (status >= 500 || (status === 0 && !isRaw)) violations.push(`${route.name} answered ${kind}`)
        }
      }),
    )
    if ((await client.health()).status !== 'ok') violations.push('the server is not well')
    const { deafMs, busyMs } = await server.state()
    if (busyMs > mostStallMs) violations.push(`the server was busy with one thing for ${busyMs} ms`)
    const missed = allRoutes.filter(({ name }) => !asked.has(name)).map(({ name }) => `${name} was not asked`)
    return { violations, notExercised: missed, counts: { requests, deafMs, busyMs, statuses } }
  } finally {
    await server.kill()
    rmSync(folder, { recursive: true })
  }
}

function ask(port: number, route: Route, random: SeededRandom): Promise<number> {
  const filled = (name: string) => (name === ':agent' && random.chance(0.7) ? 'helper' : pathText(random))
  const path = route.path.replaceAll(/:\w+/g, filled) + queryText(route, random)
  const method = random.chance(0.9)
    ? route.method
    : random.pick(['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS'])
  const body = method === 'GET' || method === 'HEAD' ? null : bodyText(route, random)
  return send({ port, host: '127.0.0.1', path, method, headers: headersOf(random) }, body)
}

function send(options: RequestOptions, body: string | null): Promise<number> {
  return new Promise((resolve) => {
    const sending = request(options, (answer) => {
      resolve(answer.statusCode ?? 0)
      // A stream would go on for ever.
      if (answer.headers['content-type']?.startsWith('text/event-stream')) sending.destroy()
      answer.resume()
    })
    // A connection that was idle for long may be closed just as a request is put on it; a client sends it again on a new one.
    sending.on('error', () => resolve(sending.reusedSocket ? send({ ...options, agent: false }, body) : 0))
    sending.end(body)
  })
}

const undecodable = ['%ff', '%c3', '%ed%a0%80', '%', '%zz', '%25ff', '%2e%2e']

function pathText(random: SeededRandom): string {
  if (random.chance(0.05)) return random.pick(undecodable)
  const text = hostileText(random)
  if (random.chance(0.2) && /^[!-~]+$/.test(text)) return text.replaceAll(/[?#]/g, '')
  return encodeURIComponent(text.isWellFormed() ? text : 'c1')
}

function queryText(route: Route, random: SeededRandom): string {
  if (random.chance(0.6)) return ''
  const names = [...Object.keys((route.query?.['properties'] ?? {}) as object), 'after', 'x']
  const pairs = Array.from({ length: random.int(1, 3) }, () => {
    if (random.chance(0.05)) return `${random.pick(names)}=${random.pick(undecodable)}`
    const text = random.chance(0.4) ? String(random.int(0, 5)) : hostileText(random)
    return `${random.pick(names)}=${encodeURIComponent(text.isWellFormed() ? text : '')}`
  })
  return `?${pairs.join('&')}`
}

function bodyText(route: Route, random: SeededRandom): string {
  const names = [...Object.keys((route.body?.['properties'] ?? {}) as object), 'value', '__proto__']
  const text = JSON.stringify(random.chance(0.4) ? nearlyRight(route, random) : hostileValue(random, names)) ?? ''
  if (random.chance(0.8)) return text
  return random.pick([
    text.slice(0, -1),
    `${'['.repeat(10_000)}`,
    '"\\ud800"',
    '\ufeff{}',
    'NaN',
    `{"a":${text},"a":${text}}`,
  ])
}

/** What the route takes, but for one member. */
function nearlyRight(route: Route, random: SeededRandom): unknown {
  const right: Record<string, unknown> = {
    ...{ message: hostileMessage(random), agent: 'helper', value: true, input: 1, round: 1, at: 1 },
    ...{ id: random.pick(['c1', 'c2', 'c3']), trigger: 'submit-message', messages: hostileMessages(random) },
  }
  const names = Object.keys((route.body?.['properties'] ?? {}) as object)
  if (random.chance(0.2)) right['output'] = hostileSchema(random)
  const members = names.filter((name) => name in right && random.chance(0.9)).map((name) => [name, right[name]])
  const wrong = random.chance(0.5) && names.length > 0 ? { [random.pick(names)]: hostileValue(random, names) } : {}
  return { ...Object.fromEntries(members), ...wrong }
}

function headersOf(random: SeededRandom): Record<string, string> {
  const headers: Record<string, string> = random.chance(0.8) ? { 'content-type': 'application/json' } : {}
  if (random.chance(0.1)) headers['content-type'] = random.pick(['text/plain', 'application/json; charset=utf-16', ';'])
  if (random.chance(0.5)) headers['x-operator'] = 'yes'
  if (random.chance(0.3))
    headers['perdure-operator'] = random.pick(['', 'Bearer', 'Bearer x', 'x', 'Bearer x, Bearer y'])
  if (random.chance(0.1)) headers['content-type'] = 'application/x-ndjson'
  if (random.chance(0.1)) headers['origin'] = random.pick(['null', 'http://evil.example', 'x'])
  if (random.chance(0.1)) headers['last-event-id'] = random.pick(['1', '99', 'x', '1~a~2', '1-zz@ab.3', '0'])
  if (random.chance(0.05)) headers['idempotency-key'] = random.pick(['k', '', 'x'.repeat(500)])
  return headers
}

/** The status; 0 when it was only cut off. */
function sendRaw(port: number, bytes: string): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(Buffer.from(bytes, 'latin1')))
    let text = ''
    socket.on('data', (chunk) => {
      text += String(chunk)
      if (text.includes('\r\n\r\n')) socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)))
    socket.setTimeout(5_000, () => socket.destroy())
  })
}
