import {
  HostNotAllowedError,
  InvalidRequestError,
  MediaTypeError,
  OriginNotAllowedError,
  RequestTimedOutError,
  RequestTooLargeError,
} from '../../base/errors/server-errors.ts'
import type { Json } from '../../base/json.ts'
import { decode } from '../../log/codec.ts'
import type { Limits } from '../server-options.ts'

/** The JSON body of a request. An empty body reads as an empty object. */
export async function readBody(request: Request, limits: Limits): Promise<Json> {
  const { depth } = limits
  checkMediaType(request, 'application/json')
  const text = await readText(request, limits)
  if (text.trim() === '') return {}
  checkDepth(text, depth)
  try {
    return decode(text)
  } catch {
    throw new InvalidRequestError('body', 'it is not JSON')
  }
}

export function checkMediaType(request: Request, expected: keyof typeof mediaTypes): void {
  if (!mediaTypes[expected].test(request.headers.get('content-type') ?? '')) throw new MediaTypeError(expected)
}

const mediaTypes = {
  'application/json': /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i,
  'application/x-ndjson': /^application\/x-ndjson\s*(;\s*charset="?utf-8"?\s*)?$/i,
}

async function readText(request: Request, { bodyBytes: limit, bodyMs }: Limits): Promise<string> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw new RequestTooLargeError('body', limit)
  if (!request.body) return ''
  const bytes = await readAll(request.body.getReader(), limit, bodyMs)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new InvalidRequestError('body', 'it is not UTF-8')
  }
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: number,
  limitMs: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RequestTimedOutError(limitMs)), limitMs)
  })
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read().catch(throwAborted), late])
      if (done) return Buffer.concat(chunks)
      bytes += value.byteLength
      if (bytes > limit) {
        reader.cancel().catch(() => {})
        throw new RequestTooLargeError('body', limit)
      }
      chunks.push(value)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** The client disconnected while sending: a client error, not a failure of the server. */
function throwAborted(): never {
  throw new InvalidRequestError('body', 'it broke off')
}

/** Runs before parsing, because code that walks the value may recurse. */
function checkDepth(text: string, limit: number): void {
  let depth = 0
  let isInString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (isInString) {
      if (code === backslash) index += 1
      else if (code === quote) isInString = false
    } else if (code === quote) isInString = true
    else if (code === openBracket || code === openBrace) {
      depth += 1
      if (depth > limit) throw new InvalidRequestError('body', `it is nested deeper than ${limit} levels`)
    } else if (code === closeBracket || code === closeBrace) depth -= 1
  }
}

const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Yields the body in chunks, and throws when no byte arrives within `stallMs`. Must not cancel the reader when the
 * consumer stops early: the response still goes out on this connection.
 */
export async function* bodyChunks({ body }: Request, stallMs: number): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  while (reader) {
    const { done, value } = await unlessStalled(reader.read().catch(throwAborted), stallMs)
    if (done) return
    yield value
  }
}

async function unlessStalled<T>(coming: Promise<T>, stallMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const stalled = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RequestTimedOutError(stallMs, 'No more of the body arrived')), stallMs)
  })
  try {
    return await Promise.race([coming, stalled])
  } finally {
    clearTimeout(timer)
  }
}

/** Protects against DNS rebinding: a name that an attacker points at this machine must not let a browser talk to it. */
export function checkHost(request: Request, allowed: readonly string[]): void {
  const host = normalised(hostOf(request))
  const isAllowed = allowed.some((name) => {
    const known = normalised(name)
    return known === host || (!hasPort(known) && known === withoutPort(host))
  })
  if (!isAllowed) throw new HostNotAllowedError()
}

export function hostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

function normalised(host: string): string {
  return host.trim().toLowerCase()
}

function hasPort(host: string): boolean {
  return /:\d+$/.test(host) && withoutPort(host) !== host
}

/** Also for '[::1]:80'. */
function withoutPort(host: string): string {
  return host.replace(/^(\[[^\]]*\]|[^:]*):\d+$/, '$1')
}

/** Refuses pages of other origins unless they are listed. Must run after `checkHost`. */
export function checkOrigin(request: Request, allowed: readonly string[]): void {
  const origin = request.headers.get('origin')
  if (origin !== null) {
    if (!allowed.includes(origin) && !isOwn(origin, request)) throw new OriginNotAllowedError()
    return
  }
  // Requests without an Origin header, such as those for images, still send sec-fetch-site.
  if (request.headers.get('sec-fetch-site') === 'cross-site') throw new OriginNotAllowedError()
}

function isOwn(origin: string, request: Request): boolean {
  if (!URL.canParse(origin)) return false
  const { host, protocol } = new URL(origin)
  return (protocol === 'http:' || protocol === 'https:') && host === hostOf(request).toLowerCase()
}

/** Lets the browser hand responses to pages of listed origins. */
export function corsHeaders(request: Request, allowed: readonly string[]): Record<string, string> {
  const origin = request.headers.get('origin')
  if (origin === null || !allowed.includes(origin)) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'retry-after',
    vary: 'origin',
  }
}

/** `more`: names of headers that the clients of a protocol send. */
export function preflight(request: Request, allowed: readonly string[], more: readonly string[] = []): Response {
  const headers = corsHeaders(request, allowed)
  if (!('access-control-allow-origin' in headers)) throw new OriginNotAllowedError()
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-allow-headers': [...usualHeaders, ...more].join(', '),
      'access-control-max-age': '600',
    },
  })
}

const usualHeaders = ['authorization', 'content-type', 'idempotency-key', 'last-event-id']

/** Refuses paths that are not UTF-8: two ids could look the same, or decode to a different id. */
export function checkPath(request: Request): void {
  const { pathname, search } = new URL(request.url)
  if (!isText(pathname)) throw new InvalidRequestError('path', 'it has bytes that are not UTF-8')
  if (!isText(search)) throw new InvalidRequestError('query', 'it has bytes that are not UTF-8')
}

function isText(encoded: string): boolean {
  try {
    decodeURIComponent(encoded)
    return true
  } catch {
    return false
  }
}

/** Must run before the other checks. */
export function checkSize(request: Request, { urlBytes, headerBytes }: Limits): void {
  if (request.url.length > urlBytes) throw new RequestTooLargeError('URL', urlBytes)
  let bytes = 0
  for (const [name, value] of request.headers) bytes += name.length + value.length + 4
  if (bytes > headerBytes) throw new RequestTooLargeError('header', headerBytes)
}
