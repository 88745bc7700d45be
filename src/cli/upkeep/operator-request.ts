import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { UpkeepNotServedError } from '../../base/errors/cli-errors.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { ServerUnreachableError } from '../../base/errors/server-errors.ts'
import { errorOf } from '../../client/request.ts'
import type { ServerAccess } from '../target/server-access.ts'

export type OperatorAsk = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly json?: object
  /** Sent as they come, while the answer is read. */
  readonly lines?: AsyncIterable<Uint8Array>
  /** What the answer is made of. Default: lines. */
  readonly expects?: 'application/json' | 'application/x-ndjson'
  /** What is to be told when the connection goes before the end of the answer. */
  cutOff(cause?: unknown): Error
}

export type OperatorAnswer = {
  header(name: string): string | null
  /** Throws `cutOff` where the connection goes. */
  readonly chunks: AsyncIterable<Uint8Array>
}

const keepAliveMs = 15_000

/**
 * Asks a route for operators, and gives the answer as it comes. Made without `fetch`, which gives up on answers that take long, and on those that come while
 * there is more to send.
 */
export async function operatorRequest({ address, ...access }: ServerAccess, ask: OperatorAsk): Promise<OperatorAnswer> {
  const url = new URL(address.href.replace(/\/+$/, '') + ask.path)
  for (const [name, value] of Object.entries(ask.query ?? {}))
    if (value !== undefined) url.searchParams.set(name, value)
  // Nobody acts here, so that a token of the environment can only be meant for this.
  const secret = (await access.operatorToken()) ?? (await access.token())
  const headers = {
    ...(ask.lines ? { 'content-type': 'application/x-ndjson' } : {}),
    ...(ask.json ? { 'content-type': 'application/json' } : {}),
    ...(secret === null ? {} : { authorization: `Bearer ${secret}`, 'perdure-operator': `Bearer ${secret}` }),
  }
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  // A connection of its own: it is used for long, and not again.
  const outgoing = send(url, { method: ask.method, headers, agent: false })
  // Whoever only reads would never see that a machine or a network is gone.
  outgoing.setSocketKeepAlive(true, keepAliveMs)
  const sending = new Sending(outgoing)
  const answered = responseTo(outgoing)
  if (ask.lines) void sending.send(ask.lines)
  else outgoing.end(ask.json ? JSON.stringify(ask.json) : undefined)
  const incoming = await answered.catch((error: NodeJS.ErrnoException) => {
    const isOurs = sending.hasConnected && !isOfAnotherProtocol(error)
    throw sending.failure ?? (isOurs ? ask.cutOff(error) : new ServerUnreachableError(reasonOf(error)))
  })
  if (incoming.statusCode !== 200) throw await refusal(incoming, address)
  // Pages of other servers may be found at any path.
  if (!incoming.headers['content-type']?.startsWith(ask.expects ?? 'application/x-ndjson')) {
    throw new ServerUnreachableError('something else answered with 200')
  }

  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of incoming) yield chunk as Uint8Array
    } catch (error) {
      throw sending.failure ?? ask.cutOff(error)
    } finally {
      outgoing.destroy()
    }
  }
  return { header: (name) => incoming.headers[name]?.toString() ?? null, chunks: chunks() }
}

function responseTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('response', resolve)
    // Also after the answer has begun, when it is the answer that tells.
    outgoing.on('error', reject)
  })
}

/** What is on its way to the server. */
class Sending {
  readonly #outgoing: ClientRequest
  /** What the source of the lines threw. */
  failure: Error | null = null
  hasConnected = false

  constructor(outgoing: ClientRequest) {
    this.#outgoing = outgoing
    const connected = outgoing.protocol === 'https:' ? 'secureConnect' : 'connect'
    outgoing.once('socket', (socket) =>
      socket.once(connected, () => {
        this.hasConnected = true
      }),
    )
  }

  /** No faster than the server takes them, and not on when it has had enough. */
  async send(lines: AsyncIterable<Uint8Array>): Promise<void> {
    const outgoing = this.#outgoing
    try {
      for await (const chunk of lines) {
        if (outgoing.destroyed) return
        if (!outgoing.write(chunk)) await drained(outgoing)
      }
      outgoing.end()
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error(String(error))
      outgoing.destroy(this.failure)
    }
  }
}

/** Or closed. */
function drained(outgoing: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    if (outgoing.destroyed) resolve()
    const go = (): void => {
      outgoing.off('drain', go)
      outgoing.off('close', go)
      resolve()
    }
    outgoing.on('drain', go)
    outgoing.on('close', go)
  })
}

async function refusal(incoming: IncomingMessage, address: URL): Promise<Error> {
  let text = ''
  try {
    for await (const piece of incoming.setEncoding('utf8')) text += piece as string
  } catch {
    // What came of it may be enough.
  }
  const retryAfter = incoming.headers['retry-after']
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  const error = await errorOf(new Response(text, { status: incoming.statusCode ?? 500, headers }))
  const isMissing = PerdureError.isInstance(error) && error.code === 'route_not_found'
  return isMissing ? new UpkeepNotServedError(address.href) : error
}

/** What came is no HTTP, or is where TLS was expected. */
function isOfAnotherProtocol({ code = '' }: NodeJS.ErrnoException): boolean {
  return code === 'HPE_INVALID_CONSTANT' || code === 'EPROTO'
}

/** Where a name has several addresses, the reasons are in the errors of each. */
function reasonOf(error: NodeJS.ErrnoException & { readonly errors?: readonly Error[] }): string {
  if (isOfAnotherProtocol(error)) return 'it speaks another protocol, perhaps http for https'
  return error.message || error.errors?.[0]?.message || error.code || 'the connection failed'
}
