import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { DefinitionError } from '../../base/errors/definition-errors.ts'
import { readOptions } from '../../base/errors/read-options.ts'
import { InvalidRequestError } from '../../base/errors/server-errors.ts'
import { checkDuration } from '../../store/checks.ts'
import { yieldToEventLoop } from '../../store/log-pages.ts'
import { problemOf } from '../problem.ts'
import { defaultLimits } from '../server-options.ts'

/** Options of `toNodeListener`. */
export type ListenerOptions = {
  /** How long a client may read nothing before it is disconnected. Default: 300,000. */
  readonly stallMs?: number
  /** While true, each connection ends with its response. Default: never. */
  readonly isClosing?: () => boolean
}

type WebHandler = (request: Request) => Response | Promise<Response>

/** Answers requests of Node's HTTP server, and of what is built on it, such as Express and Fastify. */
export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void

/**
 * Connects a handler to Node's HTTP server. Streams reach the client as they are written, no faster than the client reads, and a client that goes away aborts
 * `request.signal`. Where a framework has cut off the path that it is mounted at, as Express does, the handler sees the whole path: name it as `basePath`.
 */
export function toNodeListener(handler: WebHandler, options: ListenerOptions = {}): NodeListener {
  if (typeof handler !== 'function') {
    throw new DefinitionError('toNodeListener', ['the first argument must be what createHandler returns'])
  }
  const given = readOptions('options', options, ['stallMs', 'isClosing'])
  const { stallMs = defaultLimits.stallMs, isClosing = () => false } = given
  checkDuration('stallMs', stallMs)
  return (incoming, outgoing) => {
    const isLast = /\bclose\b/i.test(incoming.headers.connection ?? '')
    outgoing.once('finish', () => {
      if (!incoming.complete) endUpload(incoming)
      else if (isLast || isClosing()) incoming.socket.destroySoon()
    })
    // Such as headers that another middleware has sent already.
    answer(handler, incoming, outgoing, stallMs).catch(() => outgoing.destroy())
  }
}

async function answer(
  handler: WebHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  stallMs: number,
): Promise<void> {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  // A broken connection also emits `close`.
  incoming.on('error', () => {})
  outgoing.on('error', () => {})
  const response = await responseTo(handler, incoming, gone.signal)
  // Prevents Node from closing the connection with the response: see `endUpload`.
  if (!incoming.complete) outgoing.setHeader('connection', 'keep-alive')
  await sendResponse(response, outgoing, stallMs)
}

async function responseTo(handler: WebHandler, incoming: IncomingMessage, signal: AbortSignal): Promise<Response> {
  try {
    return await handler(requestOf(incoming, signal))
  } catch (error) {
    return problemOf(error)
  }
}

const uploadGraceMs = 1_000

/**
 * The response was sent before the whole body arrived. Closing a connection with unread data resets it, and the client
 * would lose the response. So the rest is read and dropped for a moment first.
 */
function endUpload(incoming: IncomingMessage): void {
  incoming.removeAllListeners('data').resume()
  setTimeout(() => {
    if (!incoming.complete) incoming.socket.destroy()
  }, uploadGraceMs).unref()
}

/** What frameworks add to a request of Node. */
type Prepared = IncomingMessage & {
  /** Express: the URL with the path that the listener is mounted at. */
  readonly originalUrl?: string
  /** Set by body parsers, which have read the request to its end. */
  readonly body?: unknown
}

/** Converts a Node request to a web `Request`. Throws `InvalidRequestError` when it cannot be one. */
function requestOf(incoming: Prepared, signal: AbortSignal): Request {
  const { method = 'GET', headers } = incoming
  const url = incoming.originalUrl ?? incoming.url ?? '/'
  const target = `http://${headers.host ?? ''}${url}`
  // Only paths: '*' and absolute URLs are for proxies, and raw non-ASCII bytes have no defined encoding.
  if (!/^\/[\x21-\x7e]*$/.test(url) || !URL.canParse(target)) throw new InvalidRequestError('URL', 'it is not a path')
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = hasBody ? { body: bodyOf(incoming), duplex: 'half' } : {}
  try {
    return new Request(target, { method, headers: headersOf(incoming), signal, ...body } as RequestInit)
  } catch (cause) {
    throw new InvalidRequestError('method or header', cause instanceof Error ? cause.message : 'it is not valid')
  }
}

/** A body that a parser such as `express.json()` has read is written again. */
function bodyOf(incoming: Prepared): ReadableStream | string | Uint8Array {
  const { body } = incoming
  if (!incoming.readableDidRead || body === undefined) return Readable.toWeb(incoming) as ReadableStream
  return typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2) headers.append(rawHeaders[index]!, rawHeaders[index + 1]!)
  return headers
}

/**
 * Writes a response no faster than the client reads, and disconnects a client that has read nothing for `stallMs`.
 * Resolves when the response has ended, whether or not it was sent whole.
 */
export async function sendResponse(response: Response, outgoing: ServerResponse, stallMs: number): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) {
    outgoing.end()
    return
  }
  const reader = response.body.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  outgoing.once('close', stop)
  // The body's source gave up on a stalled client. Closing the connection also ends a pending write.
  reader.closed.catch(() => outgoing.destroy())
  outgoing.flushHeaders()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done || outgoing.destroyed) break
      if (!outgoing.write(value)) await drained(outgoing, stallMs)
      // A fast client must not keep the event loop busy until its response is complete.
      await yieldToEventLoop()
    }
    outgoing.end()
  } catch {
    // The status is already sent. The client sees a broken connection.
    outgoing.destroy()
  } finally {
    outgoing.off('close', stop)
  }
}

/** Waits until the client can take more, or the connection is closed. */
async function drained(outgoing: ServerResponse, stallMs: number): Promise<void> {
  const { socket } = outgoing
  if (outgoing.destroyed || !socket) return
  const settled = new AbortController()
  const { signal } = settled
  const cutOff = (): void => void outgoing.destroy()
  // The socket sees every byte that leaves. A write callback fires only after the last one.
  socket.setTimeout(stallMs, cutOff)
  try {
    await Promise.race([once(outgoing, 'drain', { signal }), once(outgoing, 'close', { signal })])
  } finally {
    settled.abort()
    socket.setTimeout(0, cutOff)
  }
}
