import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { CutOffError, UpkeepNotServedError } from '../../base/errors/cli-errors.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { RemoteError, type RemoteProblem, ServerUnreachableError } from '../../base/errors/server-errors.ts'
import { errorOf } from '../../client/request.ts'
import type { FailedDelivery, SubscriberState } from '../../store/outbox.ts'
import type { Difference } from '../../upkeep/differences-with.ts'
import type { Exported } from '../../upkeep/export-store.ts'
import type { Finding } from '../../upkeep/finding.ts'
import { readLines } from '../../upkeep/import-line.ts'
import type { Migration, OnProgress, Progress } from '../../upkeep/maintenance.ts'
import type { Repair } from '../../upkeep/repair-conversation.ts'
import { type ServerAccess, serverAccess } from '../target/server-access.ts'
import { remoteFleetVerbs } from './fleet-verbs.ts'
import type { UpkeepTarget, Write } from './with-upkeep.ts'

/** The store of a running server, for its operators. */
export async function openRemoteUpkeep(url: string, tokenFile?: string): Promise<UpkeepTarget> {
  const access = await serverAccess(url, tokenFile)

  /** Throws if the answer ends without a result. */
  async function work<T>(ask: OperatorAsk, follower?: Follower): Promise<T> {
    const { chunks } = await operatorRequest(access, ask)
    const result = await followWork<T>(chunks, follower)
    if (result === null) throw ask.cutOff()
    return result
  }

  /** For answers that are one JSON document. */
  async function answer<T>(ask: OperatorAsk): Promise<T> {
    const { chunks } = await operatorRequest(access, { ...ask, expects: 'application/json' })
    let text = ''
    for await (const chunk of chunks) text += Buffer.from(chunk).toString('latin1')
    return JSON.parse(text) as T
  }

  return {
    place: access.address.href,
    async exportTo(write, { tenant, onProgress = () => {} }) {
      const ask: OperatorAsk = { method: 'GET', path: '/store/export', query: { tenant }, cutOff: cutOff.export }
      const { header, chunks } = await operatorRequest(access, ask)
      const total = Number(header('perdure-conversations') ?? Number.NaN)
      const exported = await copyExport(chunks, write, { total: Number.isNaN(total) ? null : total, onProgress })
      if (!exported) throw ask.cutOff()
      return exported
    },
    importFrom: (lines, { skipExisting = false, onProgress }) =>
      work(
        {
          method: 'POST',
          path: '/store/import',
          query: { skipExisting: String(skipExisting) },
          lines,
          cutOff: cutOff.import,
        },
        { onProgress },
      ),
    examine({ tenant, repair = false, onFinding, onRepair, onProgress }) {
      const ask: OperatorAsk = repair
        ? { method: 'POST', path: '/store/repair', json: { tenant }, cutOff: cutOff.repair }
        : { method: 'GET', path: '/store/examination', query: { tenant }, cutOff: cutOff.examination }
      return work(ask, {
        onProgress,
        onLine: (type, what) => (type === 'finding' ? onFinding?.(what as Finding) : onRepair?.(what as Repair)),
      })
    },
    async compareWith(lines, onDifference, { tenant }) {
      const ask: OperatorAsk = {
        method: 'POST',
        path: '/store/comparison',
        query: { tenant },
        lines,
        cutOff: cutOff.examination,
      }
      const follower: Follower = { onLine: (_, what) => onDifference(what as Difference) }
      return (await work<{ readonly differences: number }>(ask, follower)).differences
    },
    async unquarantine(json) {
      const ask = { method: 'POST', path: '/store/unquarantine', json, cutOff: cutOff.unquarantine } as const
      return (await answer<{ readonly unquarantined: boolean }>(ask)).unquarantined
    },
    fleet: remoteFleetVerbs((method, path, given) => {
      if (method === 'POST') return answer({ method, path, json: given, cutOff: cutOff.fleet })
      const query = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]))
      return answer({ method, path, query, cutOff: cutOff.fleet })
    }),
    outbox: {
      async subscribers() {
        const ask = { method: 'GET', path: '/store/subscribers', cutOff: cutOff.outbox } as const
        return (await answer<{ readonly subscribers: SubscriberState[] }>(ask)).subscribers
      },
      async failed({ subscriber, before, limit } = {}) {
        const query = { subscriber, before: textOf(before), limit: textOf(limit) }
        const ask = { method: 'GET', path: '/store/deliveries', query, cutOff: cutOff.outbox } as const
        return (await answer<{ readonly deliveries: FailedDelivery[] }>(ask)).deliveries
      },
      async endFailed(ids, how) {
        const ask = { method: 'POST', path: `/store/deliveries/${how}`, json: { ids }, cutOff: cutOff.outbox } as const
        return (await answer<{ readonly deliveries: number }>(ask)).deliveries
      },
      async removeSubscriber(name) {
        const ask = {
          method: 'POST',
          path: '/store/subscribers/remove',
          json: { name },
          cutOff: cutOff.outbox,
        } as const
        return (await answer<{ readonly removed: boolean }>(ask)).removed
      },
    },
    migrate({ check }) {
      const asked = check ? ({ method: 'GET' } as const) : ({ method: 'POST', json: {} } as const)
      return answer<Migration>({ ...asked, path: '/store/migration', cutOff: cutOff.migration })
    },
    collectGarbage: (json) => work({ method: 'POST', path: '/store/garbage', json, cutOff: cutOff.garbage }),
    close: async () => {},
  }
}

function textOf(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value)
}

const brokeOff =
  (problem: string, advice: string) =>
  (cause?: unknown): CutOffError =>
    new CutOffError(problem, advice, { cause })

/** The error for each kind of work when the connection breaks before its result. */
const cutOff = {
  export: brokeOff(
    'The connection broke during the export, and its output is not complete',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  import: brokeOff(
    'The connection broke during the import; each conversation is there whole or not at all',
    'Check that the server runs at this address (http or https), then run it again with --skip-existing',
  ),
  examination: brokeOff(
    'The connection broke before the examination ended',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  repair: brokeOff(
    'The connection broke before the repair ended; finished repairs stay',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  unquarantine: brokeOff(
    'The connection broke before the server said whether it released the conversation',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  fleet: brokeOff(
    'The connection broke before the server answered; what was asked may have been done',
    'Check that the server runs at this address (http or https), then run perdure nodes or perdure pause to see',
  ),
  outbox: brokeOff(
    'The connection broke before the server said what it has of its subscribers',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  migration: brokeOff(
    'The connection broke before the server said which schema the store has',
    'Check that the server runs at this address (http or https), then run it again',
  ),
  garbage: brokeOff(
    'The connection broke before the server said what it removed',
    'Check that the server runs at this address (http or https), then run it again',
  ),
}

type Follower = {
  readonly onProgress?: OnProgress | undefined
  /** Called for each line that is neither progress nor the end. */
  onLine?(type: string, what: unknown): unknown
}

/** Reads the lines of long work. Returns its result; null if the lines end without one. Throws the problem that they end with. */
export async function followWork<T>(
  chunks: AsyncIterable<Uint8Array>,
  { onProgress, onLine }: Follower = {},
): Promise<T | null> {
  for await (const { text } of readLines(chunks)) {
    // An empty line is a heartbeat; a line without an end is cut off.
    if (text === '\n' || !text.endsWith('\n')) continue
    const { type, ...what } = parsed(text)
    if (type === 'result') return what as T
    if (type === 'problem') throw new RemoteError((what as unknown as { problem: RemoteProblem }).problem)
    if (type === 'progress') onProgress?.(what as unknown as Progress)
    else await onLine?.(type, what)
  }
  return null
}

function parsed(text: string): { readonly type: string } {
  try {
    return JSON.parse(text) as { readonly type: string }
  } catch (cause) {
    throw new ServerUnreachableError('its answer is not made of lines of JSON', { cause })
  }
}

const newline = 0x0a
/** More than any line that is parsed here. Longer lines are passed on in pieces. */
const heldBytes = 64 * 1024
const ofConversation = Buffer.from('{"line":"conversation_end"')
const ofEnd = Buffer.from('{"line":"end"')
const ofProblem = Buffer.from('{"line":"problem"')

/** Copies an export byte for byte. Null if it ends without its last line. A problem line is thrown, and not copied. */
export async function copyExport(
  chunks: AsyncIterable<Uint8Array>,
  write: Write,
  { total, onProgress }: { readonly total: number | null; readonly onProgress: OnProgress },
): Promise<Exported | null> {
  let held: Buffer = Buffer.alloc(0)
  let isInLine = false
  let [done, rows] = [0, 0]
  let exported: Exported | null = null
  for await (const chunk of chunks) {
    const bytes =
      held.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([held, chunk])
    let from = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, from)) {
      const line = isInLine ? null : bytes.subarray(from, end)
      if (line && startsWith(line, ofConversation)) done += 1
      else if (line && startsWith(line, ofProblem)) throw new RemoteError(JSON.parse(String(line)).problem)
      else if (line && startsWith(line, ofEnd)) exported = exportedIn(line)
      isInLine = false
      rows += 1
      from = end + 1
    }
    const passedOn = bytes.length - from > heldBytes ? bytes.length : from
    isInLine ||= passedOn > from
    if (passedOn > 0) await write(bytes.subarray(0, passedOn))
    held = bytes.subarray(passedOn)
    onProgress({ done, total, rows })
  }
  return held.length === 0 ? exported : null
}

function startsWith(line: Buffer, head: Buffer): boolean {
  return line.length >= head.length && line.compare(head, 0, head.length, 0, head.length) === 0
}

function exportedIn(line: Buffer): Exported {
  const { sha256, conversations } = JSON.parse(String(line)) as { sha256: string; conversations: number }
  return { digest: sha256, conversations }
}

type OperatorAsk = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly json?: object
  /** Sent while the answer is read. */
  readonly lines?: AsyncIterable<Uint8Array>
  /** The content type of the answer. Default: lines of JSON. */
  readonly expects?: 'application/json' | 'application/x-ndjson'
  /** The error when the connection breaks before the end of the answer. */
  cutOff(cause?: unknown): Error
}

type OperatorAnswer = {
  header(name: string): string | null
  /** Throws `cutOff` when the connection breaks. */
  readonly chunks: AsyncIterable<Uint8Array>
}

const keepAliveMs = 15_000

/**
 * Sends a request to a route for operators, and streams the answer. Not with `fetch`, which gives up on slow answers, and on answers that begin before the
 * request is sent.
 */
async function operatorRequest({ address, ...access }: ServerAccess, ask: OperatorAsk): Promise<OperatorAnswer> {
  const url = new URL(address.href.replace(/\/+$/, '') + ask.path)
  for (const [name, value] of Object.entries(ask.query ?? {}))
    if (value !== undefined) url.searchParams.set(name, value)
  // These routes have no user, so PERDURE_TOKEN can only mean an operator's token.
  const secret = (await access.operatorToken()) ?? (await access.token())
  const headers = {
    ...(ask.lines ? { 'content-type': 'application/x-ndjson' } : {}),
    ...(ask.json ? { 'content-type': 'application/json' } : {}),
    ...(secret === null ? {} : { authorization: `Bearer ${secret}`, 'perdure-operator': `Bearer ${secret}` }),
  }
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  // A connection of its own: it is busy for long, and not reused.
  const outgoing = send(url, { method: ask.method, headers, agent: false })
  // A connection that only reads would never notice that the other machine is gone.
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
  // Another server may answer any path with a page.
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
    // Stays after the answer has begun: the reader of the answer reports it then.
    outgoing.on('error', reject)
  })
}

/** The body of a request, while it is sent. */
class Sending {
  readonly #outgoing: ClientRequest
  /** The error of the source of the lines. */
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

  /** Waits for the server to read, and stops when the server closes the request. */
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

/** Resolves when the server has read, or the connection is closed. */
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
    // The part that arrived may be enough.
  }
  const retryAfter = incoming.headers['retry-after']
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  const error = await errorOf(new Response(text, { status: incoming.statusCode ?? 500, headers }))
  const isMissing = PerdureError.isInstance(error) && error.code === 'route_not_found'
  return isMissing ? new UpkeepNotServedError(address.href) : error
}

/** The answer is not HTTP, or not TLS where TLS was expected. */
function isOfAnotherProtocol({ code = '' }: NodeJS.ErrnoException): boolean {
  return code === 'HPE_INVALID_CONSTANT' || code === 'EPROTO'
}

/** If a name has several addresses, each has an error of its own. */
function reasonOf(error: NodeJS.ErrnoException & { readonly errors?: readonly Error[] }): string {
  if (isOfAnotherProtocol(error)) return 'it speaks another protocol, perhaps http for https'
  return error.message || error.errors?.[0]?.message || error.code || 'the connection failed'
}
