import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Route } from '../../../../src/server/route.ts'
import type { Filled } from './fill.ts'

/** Where to ask, and what is known of the answer. */
export type Reading = { readonly name: string; readonly path: string; readonly route: Route }

/** Every way to read something of a table of routes. Throws where a path has a name that nothing large has: a new route needs one. */
export function readingsOf(routes: readonly Route[], filled: Filled): Reading[] {
  return routes
    .filter(({ method }) => method === 'GET')
    .flatMap((route) => {
      const ids = route.path.includes('/flows/') ? [filled.session] : filled.conversations
      const subjects = route.path.includes(':id') ? ids : ['']
      return subjects.flatMap((id) => variants(route).map((query) => readingOf(route, id, query, filled)))
    })
}

function readingOf(route: Route, id: string, query: string, filled: Filled): Reading {
  const names: Readonly<Record<string, string | undefined>> = {
    id,
    agent: 'helper',
    flow: filled.flow,
    turnId: filled.turnIds[id],
    turnRef: filled.turnRef,
    blob: filled.blob,
  }
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = names[name]
    if (value === undefined) throw new Error(`route '${route.name}' has ':${name}', and nothing large is named so`)
    return encodeURIComponent(value)
  })
  return { name: `${route.name} of ${id || 'all'} ${query}`.trim(), path: path + query, route }
}

/** As much as may be asked for, from both ends. */
function variants({ name, query }: Route): string[] {
  const properties = (query?.['properties'] ?? {}) as Record<string, { readonly maximum?: number }>
  const limit = properties['limit'] ? `limit=${properties['limit'].maximum}` : ''
  // A feed's place begins with a time.
  const first = name === 'liveTenant' ? '0@0000000000.0' : '0'
  const onwards = properties['after'] ? [`after=${first}`] : []
  return ['', ...onwards].map((start) => {
    const asked = [start, limit].filter((part) => part !== '').join('&')
    return asked === '' ? '' : `?${asked}`
  })
}

/** `end`: the last characters of a stream. */
export type Read = {
  readonly statuses: readonly number[]
  readonly largest: number
  readonly bytes: number
  readonly end: string
}

const headers = { host: '127.0.0.1', 'x-operator': 'yes' }
/** Of what is streamed: what shows that it flows. */
const streamedBytes = 30 * 1024 * 1024

/** Reads what is there, a few pages of it, or the beginning of a stream. */
export async function readLarge(
  port: number,
  { path: start, route }: Reading,
  { pages, silentMs }: { readonly pages: number; readonly silentMs: number },
): Promise<Read> {
  const statuses: number[] = []
  let largest = 0
  let bytes = 0
  let end = ''
  let next: string | null = start
  for (let page = 0; page < pages && next !== null; page++) {
    const path: string = next
    const answer = await onceAdmitted(() =>
      fetchSome(port, path, isStreamed(route) ? (isExamination(route) ? Number.POSITIVE_INFINITY : silentMs) : null),
    )
    statuses.push(answer.status)
    largest = Math.max(largest, isStreamed(route) ? 0 : answer.bytes)
    bytes += answer.bytes
    end = answer.end ?? ''
    next = nextPage(start, answer.text)
  }
  return { statuses, largest, bytes, end }
}

type Answer = { readonly status: number; readonly text: string; readonly bytes: number; readonly end?: string }

/** Asks again after a 429: a reader that broke off keeps its place until the server has noticed. */
async function onceAdmitted(ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask()
    if (answer.status !== 429 || attempt === 30) return answer
    await sleep(1_000)
  }
}

function isStreamed({ answer, isForOperators, name }: Route): boolean {
  return answer.type === 'text/event-stream' || (isForOperators ?? false) || name === 'readFile'
}

/** Is read to its end: what it holds grows as it goes on. */
export function isExamination({ name }: Route): boolean {
  return name === 'examineStore'
}

/** `silentMs`: of a stream; null where the answer has an end. */
async function fetchSome(port: number, path: string, silentMs: number | null): Promise<Answer> {
  const abort = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, signal: abort.signal })
  if (silentMs === null) {
    const bytes = new Uint8Array(await response.arrayBuffer())
    return { status: response.status, text: Buffer.from(bytes).toString(), bytes: bytes.byteLength }
  }
  let bytes = 0
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let end = ''
  const silent = (): Promise<null> =>
    new Promise((resolve) => {
      if (Number.isFinite(silentMs)) setTimeout(() => resolve(null), silentMs)
    })
  for (let step = await reader?.read(); step && !step.done; ) {
    bytes += step.value.byteLength
    end = (end + decoder.decode(step.value, { stream: true })).slice(-300)
    if (bytes > streamedBytes) break
    const read = await Promise.race([reader!.read(), silent()])
    if (read === null) break
    step = read
  }
  abort.abort()
  return { status: response.status, text: '', bytes, end }
}

function nextPage(path: string, text: string): string | null {
  const cursors = /"(after|before)":(\d+|"[^"]*")/.exec(text.slice(-300)) ?? /"(before)":(\d+)/.exec(text.slice(0, 300))
  const [, name, value] = cursors ?? []
  if (name === undefined || value === undefined) return null
  const url = new URL(path, 'http://127.0.0.1')
  url.searchParams.set(name, String(JSON.parse(value)))
  return url.pathname + url.search
}

/** Asks, and never takes the answer. */
export async function readNothing(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  // Being cut off is what it is here for.
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nx-operator: yes\r\n\r\n`)
  return socket
}
