import { onAbort } from '../../base/abort.ts'
import { RuntimeClosedError } from '../../base/errors/runtime-errors.ts'
import { InvalidRequestError, RateLimitedError } from '../../base/errors/server-errors.ts'
import { permissionOf } from '../../runtime/permit.ts'
import { outboxOf } from '../../store/outbox.ts'
import { json } from '../answer.ts'
import { type Cursor, parseCursor } from '../live/frame.ts'
import { eventStream, eventStreamHeaders, Subscription } from '../live/subscription.ts'
import { type FeedPlace, parsePlace } from '../live/tenant-feed.ts'
import { tenantFrames, type WatchedLog } from '../live/tenant-stream.ts'
import { limit, object, type Route, type RouteCall, seq, text } from '../route.ts'

const mostWatched = 8

/** The routes that concern a whole tenant. */
export const tenantRoutes: readonly Route[] = [
  {
    name: 'totals',
    method: 'GET',
    path: '/totals',
    summary: 'How many conversations and sessions there are by status, and how much waits for an answer',
    query: object({ owner: { ...text, description: 'Only what this user opened.' } }),
    answer: {
      status: 200,
      description:
        'The numbers; null where `authorize` judges rows one by one. `isPartial`: only the newest were counted.',
    },
    handle: async ({ verbs, query }) => json(await verbs.totals(query as { owner?: string })),
  },
  {
    name: 'liveTenant',
    method: 'GET',
    path: '/live',
    summary: 'What changes in the tenant, and the events of some conversations, in one stream',
    query: object({
      after: { ...text, description: 'Like the header last-event-id, which takes precedence.' },
      watch: {
        ...text,
        maxLength: 6_000,
        description:
          'A JSON object of at most 8 conversation ids, each with a seq or event id to continue after, or null for a snapshot.',
      },
    }),
    answer: { status: 200, description: 'Server-sent events.', type: 'text/event-stream' },
    async handle(call) {
      const after = placeOf(call)
      const places = placesOf(call)
      const { feeds, settings } = call.server
      if (call.request.method === 'HEAD') return new Response(null, { headers: eventStreamHeaders })
      const { streams, streamBytes, heartbeatMs } = settings.limits
      if (feeds.subscribers >= streams) throw new RateLimitedError(1_000)
      const caller = call.verbs.changes()
      // Asked before the stream begins, so that a failure is an answer.
      await caller.seesAll()
      const watched = await Promise.all(places.map(([id, cursor]) => watchedLog(call, id, cursor)))
      const feed = feeds.tenant(caller.changes)
      if (!feed) throw new RuntimeClosedError()
      const stop = new AbortController()
      const frames = tenantFrames({ feed, caller, watched, heartbeatMs, signal: stop.signal }, after)
      const subscription = new Subscription(streamBytes, frames, () => {
        stop.abort()
        for (const { events } of watched) events?.close()
        feeds.streamClosed(subscription)
      })
      if (!feeds.streamOpened(subscription)) throw new RuntimeClosedError()
      subscription.end()
      onAbort(call.request.signal, () => subscription.close())
      return eventStream(subscription)
    },
  },
]

function placeOf({ request, query }: RouteCall): FeedPlace | null {
  const given = request.headers.get('last-event-id') || (query['after'] as string | undefined)
  if (given === undefined) return null
  const place = parsePlace(given)
  if (!place) throw new InvalidRequestError('event id', 'it was not issued by this server')
  return place
}

function placesOf({ query }: RouteCall): [string, Cursor | null][] {
  const given = query['watch'] as string | undefined
  if (given === undefined) return []
  const places = parsed(given)
  if (typeof places !== 'object' || places === null || Array.isArray(places))
    throw new InvalidRequestError('query', 'watch: it must be a JSON object of conversation ids')
  const named = Object.entries(places as Record<string, unknown>)
  if (named.length > mostWatched)
    throw new InvalidRequestError('query', `watch: it names ${named.length} conversations; the limit is ${mostWatched}`)
  return named.map(([id, place]) => [id, cursorOf(place)])
}

function cursorOf(place: unknown): Cursor | null {
  if (place === null) return null
  const isPlace = typeof place === 'string' || typeof place === 'number'
  const cursor = isPlace ? parseCursor(String(place)) : null
  if (!cursor) throw new InvalidRequestError('query', 'watch: a place is not a seq, an event id of this server or null')
  return cursor
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}

/** What the caller may not see is as what does not exist. */
async function watchedLog(call: RouteCall, id: string, cursor: Cursor | null): Promise<WatchedLog> {
  const record = await call.verbs.inspect(id).record('read')
  if (record?.kind !== 'conversation') return { id, events: null }
  const conversation = call.verbs.conversation(id)
  const { ref } = call.verbs.inspect(id)
  const permission = permissionOf(conversation)
  const shared = permission?.conversation ?? conversation
  const { disclosure, server } = call
  const watched = { ref, conversation: shared, disclosure, isJudged: permission !== null }
  const events = await server.feeds.subscribe(watched, cursor)
  if (!events) throw new RuntimeClosedError()
  if (permission) events.onClosed(permission.onLost(() => events.cut()))
  return { id, events }
}

const someIds = object({ ids: { type: 'array', items: { ...seq, minimum: 1 }, minItems: 1, maxItems: 1_000 } }, ['ids'])

/** Operator routes: the subscribers of the whole store, and what could not be delivered to them. */
export const outboxRoutes: readonly Route[] = [
  {
    name: 'listSubscribers',
    method: 'GET',
    path: '/store/subscribers',
    summary: 'The subscribers that the store knows, and how far they are, for operators',
    isForOperators: true,
    answer: { status: 200, description: '`subscribers`, by name.' },
    handle: async (call) => json({ subscribers: await outboxIn(call).subscribers() }),
  },
  {
    name: 'removeSubscriber',
    method: 'POST',
    path: '/store/subscribers/remove',
    summary: 'Makes the store forget a subscriber, with all that waits for it, for operators',
    isForOperators: true,
    body: object({ name: text }, ['name']),
    answer: { status: 200, description: '`removed`: false when there is none of that name.' },
    async handle(call) {
      const { name } = call.body as { readonly name: string }
      return json({ removed: await outboxIn(call).removeSubscriber(name) })
    },
  },
  {
    name: 'listFailedDeliveries',
    method: 'GET',
    path: '/store/deliveries',
    summary: 'The deliveries to subscribers that were given up, the newest first, for operators',
    isForOperators: true,
    query: object({
      subscriber: { ...text, description: 'Only of this subscriber. Default: of all.' },
      before: { ...seq, minimum: 1, description: 'The id of the last one of the previous page.' },
      limit: { ...limit(1_000), description: 'Default: 100.' },
    }),
    answer: { status: 200, description: '`deliveries`: without the content of their events.' },
    handle: async (call) => json({ deliveries: await outboxIn(call).failed(call.query) }),
  },
  {
    name: 'retryDeliveries',
    method: 'POST',
    path: '/store/deliveries/retry',
    summary: 'Has deliveries that were given up tried again, for operators',
    isForOperators: true,
    body: someIds,
    answer: { status: 200, description: '`deliveries`: how many of them there were.' },
    handle: async (call) => json({ deliveries: await outboxIn(call).endFailed(idsIn(call), 'retry') }),
  },
  {
    name: 'discardDeliveries',
    method: 'POST',
    path: '/store/deliveries/discard',
    summary: 'Forgets deliveries that were given up, for operators',
    isForOperators: true,
    body: someIds,
    answer: { status: 200, description: '`deliveries`: how many of them there were.' },
    handle: async (call) => json({ deliveries: await outboxIn(call).endFailed(idsIn(call), 'discard') }),
  },
]

/** Operator routes exist only with `upkeep`. */
function outboxIn({ server }: RouteCall) {
  return outboxOf(server.settings.upkeep!.store)
}

function idsIn({ body }: RouteCall): number[] {
  return (body as { readonly ids: number[] }).ids
}
