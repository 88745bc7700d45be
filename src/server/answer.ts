import { NotAConversationError } from '../base/errors/flow-errors.ts'
import { ConversationNotFoundError } from '../base/errors/store-errors.ts'
import { flowOfAgent } from '../define/define-flow.ts'
import { encode } from '../log/codec.ts'
import type { Conversation } from '../runtime/conversation.ts'
import { yieldToEventLoop } from '../store/log-pages.ts'
import type { ConversationRecord } from '../store/records.ts'
import type { Page } from '../store/store.ts'
import type { RouteCall } from './route.ts'

/** Size of one write to the socket. The next piece waits until a slow client has read this one. */
const pieceBytes = 64 * 1024

export function json(value: unknown, status = 200): Response {
  return bytesAnswer([Buffer.from(jsonText(value))], { 'content-type': 'application/json' }, status)
}

/** A response with a known length, sent in pieces. */
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

/** Encodes with the log's codec, so values from the log keep their exact form. */
export function jsonText(value: unknown): string {
  return encode(withoutUndefined(value))
}

export function empty(): Response {
  return new Response(null, { status: 204 })
}

/** Drops undefined members, as JSON.stringify does. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutUndefined(member)]))
}

const minBytes = 16 * 1024

/**
 * Builds a response from at most `maxBytes` of source data. The encoded size is known only afterwards, so the limit is
 * halved until the response fits.
 */
export async function truncateToLimit(
  { server }: Pick<RouteCall, 'server'>,
  make: (maxBytes: number) => Promise<unknown>,
): Promise<Response> {
  const { answerBytes } = server.settings.limits
  for (let maxBytes = answerBytes; ; maxBytes /= 2) {
    const made = await make(Math.floor(maxBytes))
    await yieldToEventLoop()
    const body = Buffer.from(jsonText(made))
    if (body.byteLength > answerBytes && maxBytes > minBytes) continue
    return bytesAnswer([body], { 'content-type': 'application/json' })
  }
}

/** The conversation named in the path. Throws when the caller's tenant has no conversation with this id. */
export async function requireConversation({
  verbs,
  params,
}: Pick<RouteCall, 'verbs' | 'params'>): Promise<{ conversation: Conversation; record: ConversationRecord }> {
  const id = params['id'] ?? ''
  const record = await verbs.inspect(id).record()
  if (!record) throw new ConversationNotFoundError(id)
  if (record.kind === 'flow') throw new NotAConversationError(id, flowOfAgent(record.agent))
  return { conversation: verbs.conversation(id), record }
}

/**
 * One page of a list, cut to fit the response, and the id to pass as `before` for the next page. Null: no more pages.
 */
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
  // A page with fewer items than `limit` may have been cut to fit the byte limit.
  const hasMore = items.length === limit || (await read({ before: last.id, limit: 1, maxBytes: 1 })).length > 0
  return { items, before: hasMore ? last.id : null }
}
