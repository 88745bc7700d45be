import { onAbort } from '../../base/abort.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { RuntimeClosedError } from '../../base/errors/runtime-errors.ts'
import { InvalidRequestError, RateLimitedError } from '../../base/errors/server-errors.ts'
import { ConversationNotFoundError } from '../../base/errors/store-errors.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import type { ConversationFilter } from '../../store/records.ts'
import { empty, json, pageOf, requireConversation, truncateToLimit } from '../answer.ts'
import { type Cursor, parseCursor } from '../live/frame.ts'
import { eventStream, eventStreamHeaders } from '../live/subscription.ts'
import { limit, noBody, object, type Route, type RouteCall, seq, text } from '../route.ts'
import {
  eventRange,
  eventsAnswer,
  forksOf,
  lineageAnswer,
  lineageOf,
  listed,
  pageOfEvents,
  pageOfForks,
} from './pages.ts'

const pageOfConversations = 50

export const conversationRoutes: readonly Route[] = [
  {
    name: 'listConversations',
    method: 'GET',
    path: '/conversations',
    summary: 'Conversations, the newest first',
    query: object({
      status: { enum: ['active', 'suspended', 'idle', 'ended'] },
      agent: text,
      forkOf: { ...text, description: 'Only the direct forks of this one.' },
      before: text,
      limit: limit(200),
    }),
    answer: { status: 200, description: '`before` asks for the page after this one; null when there is none.' },
    async handle(call) {
      const { verbs, query } = call
      const filter = query as ConversationFilter
      const { items, before } = await pageOf(call, pageOfConversations, (page) =>
        verbs.conversations({ ...filter, ...page }),
      )
      return json({ conversations: items.map(listed), before })
    },
  },
  {
    name: 'getConversation',
    method: 'GET',
    path: '/conversations/:id',
    summary: 'What a list tells of it',
    answer: { status: 200, description: 'The conversation.' },
    handle: async (call) => json(listed((await requireConversation(call)).record)),
  },
  {
    name: 'deleteConversation',
    method: 'DELETE',
    path: '/conversations/:id',
    summary: 'Removes it with everything that belongs to it',
    answer: { status: 204, description: 'It is gone.' },
    async handle(call) {
      const conversation = await requireConversation(call).then(
        (found) => found.conversation,
        (error: unknown) => deletable(call, error),
      )
      if (!(await conversation.delete())) throw new ConversationNotFoundError(conversation.id)
      return empty()
    },
  },
  {
    name: 'viewConversation',
    method: 'GET',
    path: '/conversations/:id/view',
    summary: 'What a person is shown of it now',
    answer: {
      status: 200,
      description: 'The view. `before` asks `history` for the messages before those in it; null when there are none.',
    },
    async handle(call) {
      const { conversation } = await requireConversation(call)
      return truncateToLimit(call, async (maxBytes) => conversation.view({ maxBytes: maxBytes / 4 }))
    },
  },
  {
    name: 'readHistory',
    method: 'GET',
    path: '/conversations/:id/history',
    summary: 'Messages by pages of whole turns, the newest first; a turn that does not fit goes on on the next page',
    query: object({ before: seq, limit: limit(100) }),
    answer: { status: 200, description: '`before` asks for the page before this one; null when there is none.' },
    async handle(call) {
      const { conversation } = await requireConversation(call)
      return truncateToLimit(call, async (maxBytes) => conversation.history({ ...call.query, maxBytes }))
    },
  },
  {
    name: 'readEvents',
    method: 'GET',
    path: '/conversations/:id/events',
    summary: 'The log: onwards from `after`, else the newest',
    query: eventRange,
    answer: pageOfEvents,
    async handle(call) {
      const { conversation, record } = await requireConversation(call)
      return eventsAnswer(call, call.verbs.inspect(conversation.id), { lastSeq: record.lastSeq })
    },
  },
  {
    name: 'forkConversation',
    method: 'POST',
    path: '/conversations/:id/fork',
    summary: 'A copy up to `at`, which does nothing by itself',
    body: object({ at: seq, id: text }),
    answer: { status: 201, description: 'The id of the copy.' },
    async handle(call) {
      const { conversation } = await requireConversation(call)
      const fork = await conversation.fork(call.body as { at?: number; id?: string })
      return json({ id: fork.id }, 201)
    },
  },
  {
    name: 'listForks',
    method: 'GET',
    path: '/conversations/:id/forks',
    summary: 'Its direct copies, the newest first',
    query: object({ before: text, limit: limit(200) }),
    answer: pageOfForks,
    handle: async (call) => forksOf(call, (await requireConversation(call)).conversation),
  },
  {
    name: 'readLineage',
    method: 'GET',
    path: '/conversations/:id/lineage',
    summary: 'Where it was forked from, and so on to the first',
    answer: lineageAnswer,
    handle: async (call) => lineageOf((await requireConversation(call)).conversation),
  },
  {
    name: 'continueConversation',
    method: 'POST',
    path: '/conversations/:id/continue',
    summary: 'Goes on with what the log says is to be done',
    body: noBody,
    answer: { status: 202, description: 'Whoever has the agent goes on with it.' },
    async handle(call) {
      await (await requireConversation(call)).conversation.continue()
      return json({}, 202)
    },
  },
]

/** A damaged one is there all the same, and deleting it is a way to be rid of it. */
function deletable({ verbs, params }: RouteCall, error: unknown): Conversation {
  if (!PerdureError.isInstance(error) || error.code !== 'conversation_unreadable') throw error
  return verbs.conversation(params['id'] ?? '')
}

export const liveRoutes: readonly Route[] = [
  {
    name: 'live',
    method: 'GET',
    path: '/conversations/:id/live',
    summary: 'What happens, as it happens: a snapshot, or what came after the id of the last event',
    query: object({ after: { ...text, description: 'As the header last-event-id, which wins; a bare seq will do.' } }),
    answer: { status: 200, description: 'Server-sent events.', type: 'text/event-stream' },
    async handle(call) {
      const cursor = cursorOf(call)
      const { conversation } = await requireConversation(call)
      const { feeds, settings } = call.server
      // Nobody would read it, and so nobody would end it.
      if (call.request.method === 'HEAD') return new Response(null, { headers: eventStreamHeaders })
      if (feeds.subscribers >= settings.limits.streams) throw new RateLimitedError(1_000)
      const { ref } = call.verbs.inspect(conversation.id)
      const { disclosure } = call
      const subscription = await feeds.subscribe({ ref, conversation, disclosure }, cursor)
      if (!subscription) throw new RuntimeClosedError()
      onAbort(call.request.signal, () => subscription.close())
      return eventStream(subscription)
    },
  },
]

function cursorOf({ request, query }: RouteCall): Cursor | null {
  const given = request.headers.get('last-event-id') || (query['after'] as string | undefined)
  if (given === undefined) return null
  const cursor = parseCursor(given)
  if (!cursor) throw new InvalidRequestError('event id', 'it is none that this server gave')
  return cursor
}
