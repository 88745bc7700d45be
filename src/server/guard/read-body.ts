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

/** The JSON a request brings; an empty body is an empty object. */
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
  const bytes = await gathered(request.body.getReader(), limit, bodyMs)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new InvalidRequestError('body', 'it is not UTF-8')
  }
}

async function gathered(
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
      const { done, value } = await Promise.race([reader.read().catch(brokeOff), late])
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

/** What comes of a body whose client has gone: no failure of the server. */
function brokeOff(): never {
  throw new InvalidRequestError('body', 'it broke off')
}

/** Before it is parsed: what walks over the value later may recurse. */
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
 * What a client brings, for as long as it brings something: any byte within `stallMs` of being waited for will do. Whoever stops reading must not let go of
 * the connection: the answer is still to be sent on it.
 */
export async function* bodyChunks({ body }: Request, stallMs: number): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  while (reader) {
    const { done, value } = await unlessStalled(reader.read().catch(brokeOff), stallMs)
    if (done) return
    yield value
  }
}

async function unlessStalled<T>(coming: Promise<T>, stallMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const stalled = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RequestTimedOutError(stallMs, 'Nothing more of the body came')), stallMs)
  })
  try {
    return await Promise.race([coming, stalled])
  } finally {
    clearTimeout(timer)
  }
}

/** A name that somebody points at this machine must not make a browser talk to it: only known hosts are answered. */
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

/** Also of '[::1]:80'. */
function withoutPort(host: string): string {
  return host.replace(/^(\[[^\]]*\]|[^:]*):\d+$/, '$1')
}

/** Pages of other origins may not call, unless they are listed. Call it after the host was checked. */
export function checkOrigin(request: Request, allowed: readonly string[]): void {
  const origin = request.headers.get('origin')
  if (origin !== null) {
    if (!allowed.includes(origin) && !isOwn(origin, request)) throw new OriginNotAllowedError()
    return
  }
  // Requests that carry no origin, such as those of images, still say that they come from elsewhere.
  if (request.headers.get('sec-fetch-site') === 'cross-site') throw new OriginNotAllowedError()
}

function isOwn(origin: string, request: Request): boolean {
  if (!URL.canParse(origin)) return false
  const { host, protocol } = new URL(origin)
  return (protocol === 'http:' || protocol === 'https:') && host === hostOf(request).toLowerCase()
}

/** For pages that are listed: what lets their browser hand them the answer. */
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

export function preflight(request: Request, allowed: readonly string[]): Response {
  const headers = corsHeaders(request, allowed)
  if (!('access-control-allow-origin' in headers)) throw new OriginNotAllowedError()
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id',
      'access-control-max-age': '600',
    },
  })
}

/** Refuses what does not stand for text: two ids would look the same, or one would be another than was meant. */
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

/** Before anything of the request is looked at closely. */
export function checkSize(request: Request, { urlBytes, headerBytes }: Limits): void {
  if (request.url.length > urlBytes) throw new RequestTooLargeError('URL', urlBytes)
  let bytes = 0
  for (const [name, value] of request.headers) bytes += name.length + value.length + 4
  if (bytes > headerBytes) throw new RequestTooLargeError('header', headerBytes)
}
