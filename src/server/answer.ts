import { ConversationNotFoundError } from '../base/errors/store-errors.ts'
import { encode } from '../log/codec.ts'
import type { Conversation } from '../runtime/conversation.ts'
import { yieldToEventLoop } from '../store/log-pages.ts'
import type { ConversationRecord } from '../store/records.ts'
import type { Page } from '../store/store.ts'
import type { RouteCall } from './route.ts'

/** What goes to the socket at once: a client that is slow holds back the rest. */
const pieceBytes = 64 * 1024

export function json(value: unknown, status = 200): Response {
  return bytesAnswer([Buffer.from(jsonText(value))], { 'content-type': 'application/json' }, status)
}

/** An answer of bytes that are there already, sent piece by piece. */
export function bytesAnswer(
  parts: readonly Uint8Array[],
  headers: Readonly<Record<string, string>>,
  status = 200,
): Response {
  const length = parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const body = length > pieceBytes ? inPieces(parts) : Buffer.concat(parts)
  return new Response(body, { status, headers: { ...headers, 'content-length': String(length) } })
}

function inPieces(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const pieces = piecesOf(parts)
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = pieces.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

function* piecesOf(parts: readonly Uint8Array[]): Generator<Uint8Array, void> {
  for (const part of parts) {
    for (let from = 0; from < part.byteLength; from += pieceBytes) yield part.subarray(from, from + pieceBytes)
  }
}

/** Values from the log must come out as they went in, so they are written with its codec. */
export function jsonText(value: unknown): string {
  return encode(plain(value))
}

export function empty(): Response {
  return new Response(null, { status: 204 })
}

/** Without members that are undefined, as JSON has it. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(kept.map(([key, member]) => [key, plain(member)]))
}

const leastBytes = 16 * 1024

/** An answer that is made of as much as it is told. How much that takes as JSON is only known when it is written: where it is too much, it is made of less. */
export async function truncateToLimit(
  { server }: Pick<RouteCall, 'server'>,
  make: (maxBytes: number) => Promise<unknown>,
): Promise<Response> {
  const { answerBytes } = server.settings.limits
  for (let maxBytes = answerBytes; ; maxBytes /= 2) {
    const made = await make(Math.floor(maxBytes))
    await yieldToEventLoop()
    const body = Buffer.from(jsonText(made))
    if (body.byteLength > answerBytes && maxBytes > leastBytes) continue
    return bytesAnswer([body], { 'content-type': 'application/json' })
  }
}

/** The conversation of a path. Throws when this caller has none of that id, whoever else has. */
export async function requireConversation({
  verbs,
  params,
}: Pick<RouteCall, 'verbs' | 'params'>): Promise<{ conversation: Conversation; record: ConversationRecord }> {
  const id = params['id'] ?? ''
  const record = await verbs.inspect(id).record()
  if (record?.kind !== 'conversation') throw new ConversationNotFoundError(id)
  return { conversation: verbs.conversation(id), record }
}

/** A page of a list, as many as fit in an answer, and the id to go on from; null when there is no more. */
export async function pageOf<Item extends { readonly id: string }>(
  { query, server }: Pick<RouteCall, 'query' | 'server'>,
  defaultLimit: number,
  read: (page: Page) => Promise<readonly Item[]>,
): Promise<{ readonly items: readonly Item[]; readonly before: string | null }> {
  const { limit = defaultLimit, before } = query as { limit?: number; before?: string }
  const items = await read({
    limit,
    maxBytes: server.settings.limits.answerBytes,
    ...(before === undefined ? {} : { before }),
  })
  const last = items.at(-1)
  if (!last) return { items, before: null }
  // A short page may have been cut for its bytes.
  const hasMore = items.length === limit || (await read({ before: last.id, limit: 1, maxBytes: 1 })).length > 0
  return { items, before: hasMore ? last.id : null }
}
