import { NotAConversationError } from '../base/errors/flow-errors.ts'
import { AgentMismatchError, AgentMissingError } from '../base/errors/runtime-errors.ts'
import { ConversationNotFoundError } from '../base/errors/store-errors.ts'
import { isTraceparent } from '../base/traceparent.ts'
import { flowOfAgent } from '../define/define-flow.ts'
import { jsonText } from '../log/codec.ts'
import type { AboutCall } from '../runtime/authorize/asked-call.ts'
import type { AuthorizeAction } from '../runtime/authorize/authorize.ts'
import { type JudgedPage, type ListItem, placeOf } from '../runtime/authorize/judged-page.ts'
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

/** The trace that a request belongs to. What is not a `traceparent` counts as absent. */
export function traceOfRequest({ headers }: Request): { readonly traceparent?: string } {
  const traceparent = headers.get('traceparent')
  return isTraceparent(traceparent) ? { traceparent } : {}
}

export function empty(): Response {
  return new Response(null, { status: 204 })
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

/**
 * The conversation named in the path. Throws when the caller's tenant has no conversation with this id, or the caller may not do this with it: `action` is that of
 * the verb that the route calls.
 */
export async function requireConversation(
  { verbs, params }: Pick<RouteCall, 'verbs' | 'params'>,
  action: AuthorizeAction,
  about?: AboutCall,
): Promise<{ conversation: Conversation; record: ConversationRecord }> {
  const id = params['id'] ?? ''
  const record = await verbs.inspect(id).record(action, about)
  if (!record) throw new ConversationNotFoundError(id)
  if (record.kind === 'flow') throw new NotAConversationError(id, flowOfAgent(record.agent))
  return { conversation: verbs.conversation(id), record }
}

/** The conversation named in the path, which must be with the agent named there. */
export async function chatOf(call: RouteCall, action: AuthorizeAction): Promise<Conversation> {
  const { conversation, record } = await requireConversation(call, action)
  const agent = call.params['agent']!
  const { agents } = call.verbs
  if (record.agent !== null && record.agent !== agent) throw new AgentMismatchError(record.id, record.agent, agent)
  if (!agents.includes(agent)) throw new AgentMissingError(agent, record.id, agents)
  return conversation
}

/** `total`: how many there are in all, where more follow and the store has counted them anyway. */
type ListPage<Item> = { readonly items: readonly Item[]; readonly before: string | null; readonly total?: number }

/**
 * One page of a list, cut to fit the response, and the id to pass as `before` for the next page. Null: no more pages. `count` is asked with a first page that is not
 * the last, unless `authorize` judges each item: then only judging all would count them.
 */
export async function pageOf<Item extends ListItem>(
  { query, server }: Pick<RouteCall, 'query' | 'server'>,
  defaultLimit: number,
  read: (page: Page) => Promise<JudgedPage<Item>>,
  count?: () => Promise<number | null>,
): Promise<ListPage<Item>> {
  const { limit = defaultLimit, before } = query as { limit?: number; before?: string }
  const items = await read({
    limit,
    maxBytes: server.settings.limits.answerBytes,
    ...(before === undefined ? {} : { before }),
  })
  // Judged one by one: the page says itself where the next one begins.
  if (items.before !== undefined) return { items, before: items.before }
  const last = items.at(-1)
  if (!last) return { items, before: null }
  // A page with fewer items than `limit` may have been cut to fit the byte limit.
  const place = placeOf(last)
  const hasMore = items.length === limit || (await read({ before: place, limit: 1, maxBytes: 1 })).length > 0
  if (!hasMore) return { items, before: null }
  const total = before === undefined && count ? await count() : null
  return { items, before: place, ...(total !== null && { total }) }
}
