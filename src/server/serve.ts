import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server as NodeServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import { InvalidRequestError } from '../base/errors/server-errors.ts'
import type { Agent } from '../define/agent.ts'
import { createScope, type Scope } from '../define/scope.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { yieldToEventLoop } from '../store/log-pages.ts'
import { createHandler, type Handler } from './create-handler.ts'
import { bearerToken, operatorOrBearerToken } from './guard/secret.ts'
import { LocalToken } from './node/local-token.ts'
import { problemOf } from './problem.ts'
import { type Authenticate, defaultLimits, type ServerOptions } from './server-options.ts'
import { serverProblems } from './server-problems.ts'

/** Options of `serve`. */
export type ServeOptions = ServerOptions & {
  /** Default: 4111. 0 picks a free port. */
  readonly port?: number
  /** Default: 127.0.0.1. Any other address needs `authenticate`. */
  readonly host?: string
  /** The scope of requests from this machine when there is no `authenticate`. Default: the user 'local'. */
  readonly localScope?: Scope
  /**
   * A file for the server's address and a secret that is new on each start. Requests with this secret act as
   * `localScope`; all others need `authenticate`. With `upkeep`, the file also contains a second secret for operators.
   */
  readonly localTokenFile?: string
}

/** A running server. */
export type Server = {
  readonly url: string
  readonly port: number
  /** Connected live clients, and conversations kept in memory for them. */
  streams(): { readonly clients: number; readonly conversations: number }
  /**
   * Stops accepting requests, ends live streams and waits up to `drainMs` for running requests; then closes their
   * connections. The runtime stays open.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

const ownAddresses = ['127.0.0.1', '::1', 'localhost']

/** Serves a runtime with Node's HTTP server. Without `authenticate` it answers this machine only. */
export async function serve<Agents extends readonly Agent[]>(
  runtime: Pick<Runtime<Agents>, 'as' | 'readiness'>,
  options: ServeOptions = {},
): Promise<Server> {
  const problems = serverProblems(options)
  if (problems.length > 0) throw new DefinitionError('The server', problems)
  const { port = 4111, host = '127.0.0.1', localTokenFile } = options
  if (!options.authenticate && !ownAddresses.includes(host)) {
    throw new DefinitionError('The server', [
      `it may not listen on '${host}' without 'authenticate'; pass (request) => scope`,
    ])
  }
  const hasOperators = options.upkeep !== undefined
  const token = localTokenFile === undefined ? null : new LocalToken(localTokenFile, { hasOperators })
  const authenticate = authenticatorOf(options, token)
  const handler = createHandler(runtime, { ...options, ...upkeepOf(options, token), authenticate })
  const { headerBytes, stallMs } = { ...defaultLimits, ...options.limits }
  // No request timeout: `readBody` limits how long a body may take, and an import may take longer.
  const server = createServer({ maxHeaderSize: headerBytes, requestTimeout: 0, headersTimeout: 15_000 })
  readBeforeClosing(server)
  server.on('request', requestListener(handler, { stallMs, isClosing: () => !server.listening }))
  server.listen(port, host)
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${taken}`
  await token?.write(url)

  async function close(drainMs: number): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    handler.close()
    server.closeIdleConnections()
    const cutOff = setTimeout(() => server.closeAllConnections(), drainMs)
    await closed
    clearTimeout(cutOff)
    await handler.settled()
    await token?.remove()
  }

  let closing: Promise<void> | null = null
  return {
    url,
    port: taken,
    streams: () => handler.streams(),
    close: ({ drainMs = 5_000 } = {}) => {
      closing ??= close(drainMs)
      return closing
    },
  }
}

function authenticatorOf({ authenticate, localScope }: ServeOptions, token: LocalToken | null): Authenticate {
  const local = localScope ?? (createScope({ user: 'local' }) as Scope)
  if (!token) return authenticate ?? (() => local)
  return (request) => {
    const given = bearerToken(request)
    if (token.isOfUser(given)) return local
    // The operator token never acts as a user, even if `authenticate` would accept it.
    return token.isOfOperator(given) ? null : (authenticate?.(request) ?? null)
  }
}

function upkeepOf({ upkeep }: ServeOptions, token: LocalToken | null): Pick<ServerOptions, 'upkeep'> {
  if (!upkeep || !token) return {}
  const { isOperator } = upkeep
  return {
    upkeep: {
      ...upkeep,
      isOperator: (request) => {
        const given = operatorOrBearerToken(request)
        return token.isOfOperator(given) || (!token.isOfUser(given) && (isOperator?.(request) ?? false))
      },
    },
  }
}

const uploadGraceMs = 1_000

type ListenerOptions = {
  /** How long a client may read nothing before it is disconnected. */
  readonly stallMs: number
  /** While closing, each connection ends with its response. */
  readonly isClosing: () => boolean
}

/** Connects a handler to Node's HTTP server. */
function requestListener(
  handler: Handler,
  { stallMs, isClosing }: ListenerOptions,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  return (incoming, outgoing) => {
    const isLast = /\bclose\b/i.test(incoming.headers.connection ?? '')
    outgoing.once('finish', () => {
      if (!incoming.complete) endUpload(incoming)
      else if (isLast || isClosing()) incoming.socket.destroySoon()
    })
    void answer(handler, incoming, outgoing, stallMs)
  }
}

async function answer(
  handler: Handler,
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

async function responseTo(handler: Handler, incoming: IncomingMessage, signal: AbortSignal): Promise<Response> {
  let request: Request
  try {
    request = requestOf(incoming, signal)
  } catch (error) {
    return problemOf(error)
  }
  return handler(request)
}

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

/** Converts a Node request to a web `Request`. Throws `InvalidRequestError` when it cannot be one. */
function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/', headers } = incoming
  const target = `http://${headers.host ?? ''}${url}`
  // Only paths: '*' and absolute URLs are for proxies, and raw non-ASCII bytes have no defined encoding.
  if (!/^\/[\x21-\x7e]*$/.test(url) || !URL.canParse(target)) throw new InvalidRequestError('URL', 'it is not a path')
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {}
  try {
    return new Request(target, { method, headers: headersOf(incoming), signal, ...body } as RequestInit)
  } catch (cause) {
    throw new InvalidRequestError('method or header', cause instanceof Error ? cause.message : 'it is not valid')
  }
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

/**
 * Node checks its keep-alive timers before it reads from sockets. After the process was busy, it would close
 * connections whose next request arrived in time. This reads once more before it closes an idle connection.
 */
export function readBeforeClosing(server: NodeServer): void {
  server.on('timeout', (socket) => {
    setImmediate(() => {
      // Reading a request resets the timeout.
      if (socket.timeout !== 0) socket.destroy()
    })
  })
}
