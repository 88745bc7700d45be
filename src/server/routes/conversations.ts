import { onAbort } from '../../base/abort.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import { RuntimeClosedError, TurnNotFoundError } from '../../base/errors/runtime-errors.ts'
import { FileNotFoundError, InvalidRequestError, RateLimitedError } from '../../base/errors/server-errors.ts'
import { ConversationNotFoundError } from '../../base/errors/store-errors.ts'
import type { Json } from '../../base/json.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import { permissionOf } from '../../runtime/permit.ts'
import { type ListFilter, listStatuses } from '../../runtime/read/lists.ts'
import type { ModelCall, ModelCallRange } from '../../store/records.ts'
import { empty, json, pageOf, requireConversation, truncateToLimit } from '../answer.ts'
import { fileResponse } from '../file-response.ts'
import { type Cursor, parseCursor } from '../live/frame.ts'
import { eventStream, eventStreamHeaders } from '../live/subscription.ts'
import { anything, emptyBody, limit, object, type Route, type RouteCall, searched, seq, text } from '../route.ts'
import {
  countOf,
  eventRange,
  eventsAnswer,
  forksOf,
  lineageAnswer,
  lineageOf,
  listEntry,
  pageOfEvents,
  pageOfForks,
  recordAnswer,
} from './pages.ts'

const pageOfConversations = 50

export const conversationRoutes: readonly Route[] = [
  {
    name: 'listConversations',
    method: 'GET',
    path: '/conversations',
    summary: 'Conversations, newest first',
    query: object({
      status: { enum: listStatuses },
      kind: { enum: ['conversation', 'flow'] },
      agent: text,
      owner: { ...text, description: 'Only conversations that this user opened.' },
      text: searched,
      forkOf: { ...text, description: 'Only direct forks of this conversation.' },
      before: text,
      limit: limit(200),
    }),
    answer: {
      status: 200,
      description:
        'Pass `before` for the next page; null when there is none. The first page has `total` where more follow and only `kind=conversation`, `owner` and `status` are asked for.',
    },
    async handle(call) {
      const { verbs, query } = call
      const filter = query as ListFilter
      const { items, ...rest } = await pageOf(
        call,
        pageOfConversations,
        (page) => verbs.conversations({ ...filter, ...page }),
        async () => (filter.kind === 'conversation' ? countOf(call, ({ conversations }) => conversations) : null),
      )
      return json({ conversations: items.map(listEntry), ...rest })
    },
  },
  {
    name: 'getConversation',
    method: 'GET',
    path: '/conversations/:id',
    summary: 'The list entry of one conversation',
    answer: { status: 200, description: 'The conversation. For operators, with its `tenant`.' },
    handle: recordAnswer,
  },
  {
    name: 'deleteConversation',
    method: 'DELETE',
    path: '/conversations/:id',
    summary: 'Deletes a conversation and everything that belongs to it',
    answer: { status: 204, description: 'It was deleted.' },
    async handle(call) {
      const conversation = await requireConversation(call, 'delete').then(
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
    summary: 'The view of a conversation: now, or as it was after an event',
    query: object({ at: { ...seq, description: 'The event. Default: now, with what is live.' } }),
    answer: {
      status: 200,
      description: 'The view. Pass `before` to `history` for older messages; null when there are none.',
    },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'read')
      return truncateToLimit(call, async (maxBytes) => conversation.view({ ...call.query, maxBytes: maxBytes / 4 }))
    },
  },
  {
    name: 'readHistory',
    method: 'GET',
    path: '/conversations/:id/history',
    summary: 'Messages in pages of whole turns, newest first; a turn that does not fit continues on the next page',
    query: object({ before: seq, limit: limit(100) }),
    answer: { status: 200, description: 'Pass `before` for the page of older messages; null when there is none.' },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'read')
      return truncateToLimit(call, async (maxBytes) => conversation.history({ ...call.query, maxBytes }))
    },
  },
  {
    name: 'readEvents',
    method: 'GET',
    path: '/conversations/:id/events',
    summary: 'The log: events after `after`, or the newest',
    query: eventRange,
    answer: pageOfEvents,
    async handle(call) {
      const { conversation, record } = await requireConversation(call, 'read')
      return eventsAnswer(call, call.verbs.inspect(conversation.id), { lastSeq: record.lastSeq })
    },
  },
  {
    name: 'appendNote',
    method: 'POST',
    path: '/conversations/:id/notes',
    summary: 'Appends a note: a fact of the application, shown to people and never to the model',
    body: object({ name: { ...text, maxLength: 255 }, data: anything }, ['name', 'data']),
    answer: { status: 201, description: 'The `seq` of the note.' },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'note')
      const { name, data } = call.body as { name: string; data: Json }
      return json(await conversation.note(name, data), 201)
    },
  },
  {
    name: 'forkConversation',
    method: 'POST',
    path: '/conversations/:id/fork',
    summary: 'Copies a conversation up to the event `at`; the copy does nothing until it is continued or sent to',
    body: object({ at: seq, id: text }),
    answer: { status: 201, description: 'The id of the copy.' },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'fork')
      const fork = await conversation.fork(call.body as { at?: number; id?: string })
      return json({ id: fork.id }, 201)
    },
  },
  {
    name: 'listForks',
    method: 'GET',
    path: '/conversations/:id/forks',
    summary: 'The direct forks of a conversation, newest first',
    query: object({ before: text, limit: limit(200) }),
    answer: pageOfForks,
    handle: async (call) => forksOf(call, (await requireConversation(call, 'read')).conversation),
  },
  {
    name: 'readLineage',
    method: 'GET',
    path: '/conversations/:id/lineage',
    summary: 'The conversations it was forked from, back to the first',
    answer: lineageAnswer,
    handle: async (call) => lineageOf((await requireConversation(call, 'read')).conversation),
  },
  {
    name: 'renameConversation',
    method: 'POST',
    path: '/conversations/:id/rename',
    summary: 'Gives a conversation a title, or takes it away (null)',
    body: object({ title: { type: ['string', 'null'], minLength: 1, maxLength: 1_000 } }, ['title']),
    answer: { status: 200, description: 'It has the title.' },
    async handle(call) {
      const { title } = call.body as { title: string | null }
      await (await requireConversation(call, 'rename')).conversation.rename(title)
      return json({})
    },
  },
  {
    name: 'continueConversation',
    method: 'POST',
    path: '/conversations/:id/continue',
    summary: 'Continues with the next step of the log',
    body: emptyBody,
    answer: { status: 202, description: 'A process that has the agent continues it.' },
    async handle(call) {
      await (await requireConversation(call, 'continue')).conversation.continue()
      return json({}, 202)
    },
  },
]

/** A damaged conversation still exists, and deleting it must be possible. */
function deletable({ verbs, params }: RouteCall, error: unknown): Conversation {
  if (!PerdureError.isInstance(error) || error.code !== 'conversation_unreadable') throw error
  return verbs.conversation(params['id'] ?? '')
}

export const liveRoutes: readonly Route[] = [
  {
    name: 'live',
    method: 'GET',
    path: '/conversations/:id/live',
    summary: 'Live events: a snapshot first, or everything after the last event id',
    query: object({
      after: { ...text, description: 'Like the header last-event-id, which takes precedence; a bare seq is valid.' },
    }),
    answer: { status: 200, description: 'Server-sent events.', type: 'text/event-stream' },
    async handle(call) {
      const cursor = cursorOf(call)
      const { conversation } = await requireConversation(call, 'read')
      const { feeds, settings } = call.server
      // A HEAD request opens no stream.
      if (call.request.method === 'HEAD') return new Response(null, { headers: eventStreamHeaders })
      if (feeds.subscribers >= settings.limits.streams) throw new RateLimitedError(1_000)
      const { ref } = call.verbs.inspect(conversation.id)
      const { disclosure } = call
      const permission = permissionOf(conversation)
      const shared = permission?.conversation ?? conversation
      const watched = { ref, conversation: shared, disclosure, isJudged: permission !== null }
      const subscription = await feeds.subscribe(watched, cursor)
      if (!subscription) throw new RuntimeClosedError()
      if (permission) subscription.onClosed(permission.onLost(() => subscription.cut()))
      onAbort(call.request.signal, () => subscription.close())
      return eventStream(subscription)
    },
  },
]

function cursorOf({ request, query }: RouteCall): Cursor | null {
  const given = request.headers.get('last-event-id') || (query['after'] as string | undefined)
  if (given === undefined) return null
  const cursor = parseCursor(given)
  if (!cursor) throw new InvalidRequestError('event id', 'it was not issued by this server')
  return cursor
}

export const recordRoutes: readonly Route[] = [
  {
    name: 'listModelCalls',
    method: 'GET',
    path: '/conversations/:id/model-calls',
    summary: 'The audited model calls, for operators and users who may read prompts',
    readsPrompts: true,
    query: object({ from: text, skip: seq, limit: limit(1000) }),
    answer: {
      status: 200,
      description:
        'Model calls without their prompts. Pass the members of `next` for the next page; null when there is none.',
    },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'audit')
      const { from, skip = 0, ...bounds } = call.query as ModelCallRange
      const place = from === undefined ? {} : { from, skip }
      const { calls, next } = await pageOfCalls(call, conversation.id, { contexts: false, ...bounds, ...place })
      return json({ modelCalls: calls.map(({ renderedContext: _, ...rest }) => rest), next })
    },
  },
  {
    name: 'getModelCall',
    method: 'GET',
    path: '/conversations/:id/model-calls/:turnRef',
    summary: 'The exact prompt of each attempt, for operators and users who may read prompts',
    readsPrompts: true,
    query: object({ skip: seq }),
    answer: {
      status: 200,
      description: 'The attempts of this call. Pass the members of `next` for the next page; null when there is none.',
    },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'audit')
      const turnRef = call.params['turnRef']!
      const { calls, next } = await pageOfCalls(call, conversation.id, { turnRef, ...call.query })
      if (calls.length === 0) throw new TurnNotFoundError(conversation.id, turnRef)
      return json({ attempts: calls, next: next && { skip: next.skip } })
    },
  },
  {
    name: 'explainModelCall',
    method: 'GET',
    path: '/conversations/:id/model-calls/:turnRef/explain',
    summary: 'How each event appeared in the prompt, and why, for operators and users who may read prompts',
    readsPrompts: true,
    query: object({ after: seq, limit: limit(1000) }),
    answer: {
      status: 200,
      description: 'An explanation of each event on the page. Pass `after` for the next page; null when there is none.',
    },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'audit')
      const turnRef = call.params['turnRef']!
      const page = await call.verbs.inspect(conversation.id).explain(turnRef, call.query)
      if (!page) throw new TurnNotFoundError(conversation.id, turnRef)
      return json(page)
    },
  },
  {
    name: 'readSnapshot',
    method: 'GET',
    path: '/conversations/:id/snapshot',
    summary: 'The latest snapshot of a conversation',
    answer: { status: 200, description: '`snapshot` is null when there is none.' },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'read')
      return json({ snapshot: await call.verbs.inspect(conversation.id).snapshot() })
    },
  },
]

const callsPerPage = 200

type Next = { readonly from: string; readonly skip: number }

/** As many model calls as fit, and where the next page begins. */
async function pageOfCalls(
  { verbs, server }: RouteCall,
  id: string,
  range: ModelCallRange,
): Promise<{ readonly calls: readonly ModelCall[]; readonly next: Next | null }> {
  const { modelCalls } = verbs.inspect(id)
  const calls = await modelCalls({ limit: callsPerPage, maxBytes: server.settings.limits.answerBytes, ...range })
  const last = calls.at(-1)
  if (!last) return { calls, next: null }
  const ofLast = calls.filter(({ turnRef }) => turnRef === last.turnRef).length
  // `skip` counts attempts of the call that the page begins with.
  const isSameCall = (range.turnRef ?? range.from) === last.turnRef
  const skipped = isSameCall ? (range.skip ?? 0) : 0
  const next = { from: last.turnRef, skip: ofLast + skipped }
  const only = range.turnRef === undefined ? {} : { turnRef: range.turnRef }
  const [following] = await modelCalls({ ...next, ...only, limit: 1, contexts: false })
  return { calls, next: following ? next : null }
}

export const fileRoutes: readonly Route[] = [
  {
    name: 'readFile',
    method: 'GET',
    path: '/conversations/:id/files/:blob',
    summary: 'A file that a message of the conversation refers to, by its SHA-256',
    query: object({
      signed: {
        ...text,
        description: 'From a message: answers without an identity, from any origin, until it expires.',
      },
    }),
    answer: { status: 200, description: 'The file.', type: 'application/octet-stream' },
    async handle(call) {
      const { conversation } = await requireConversation(call, 'read')
      const blob = call.params['blob']!
      const file = /^[0-9a-f]{64}$/.test(blob) ? await call.verbs.inspect(conversation.id).file(blob) : null
      if (!file) throw new FileNotFoundError(conversation.id)
      return fileResponse(file)
    },
  },
]
