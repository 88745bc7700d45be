import { ConversationNotFoundError } from '../../errors/store-errors.ts'
import type { ConversationFilter, ConversationRecord } from '../../store/conversation-record.ts'
import { empty, json } from '../answer.ts'
import { existing } from '../existing.ts'
import type { Route } from '../route.ts'
import { limit, noBody, object, seq, text } from '../schemas.ts'

const pageOfConversations = 50
const pageOfEvents = 200

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
    async handle({ verbs, query }) {
      const filter = { limit: pageOfConversations, ...query } as ConversationFilter & { limit: number }
      const records = await verbs.conversations(filter)
      const before = records.length === filter.limit ? (records.at(-1)?.id ?? null) : null
      return json({ conversations: records.map(shown), before })
    },
  },
  {
    name: 'getConversation',
    method: 'GET',
    path: '/conversations/:id',
    summary: 'What a list tells of it',
    answer: { status: 200, description: 'The conversation.' },
    handle: async (call) => json(shown((await existing(call)).record)),
  },
  {
    name: 'deleteConversation',
    method: 'DELETE',
    path: '/conversations/:id',
    summary: 'Removes it with everything that belongs to it',
    answer: { status: 204, description: 'It is gone.' },
    async handle(call) {
      const { conversation } = await existing(call)
      if (!(await conversation.delete())) throw new ConversationNotFoundError(conversation.id)
      return empty()
    },
  },
  {
    name: 'viewConversation',
    method: 'GET',
    path: '/conversations/:id/view',
    summary: 'What a person is shown of it now',
    answer: { status: 200, description: 'The view.' },
    handle: async (call) => json(await (await existing(call)).conversation.view()),
  },
  {
    name: 'readHistory',
    method: 'GET',
    path: '/conversations/:id/history',
    summary: 'Messages by pages of whole turns, the newest first',
    query: object({ before: seq, limit: limit(100) }),
    answer: { status: 200, description: '`before` asks for the page before this one; null when there is none.' },
    handle: async (call) => json(await (await existing(call)).conversation.history(call.query)),
  },
  {
    name: 'readEvents',
    method: 'GET',
    path: '/conversations/:id/events',
    summary: 'The log: onwards from `after`, else the newest',
    query: object({ after: seq, before: seq, limit: limit(1000) }),
    answer: { status: 200, description: 'Events in their order.' },
    async handle(call) {
      const { conversation, record } = await existing(call)
      const { after, before, limit: most = pageOfEvents } = call.query as Record<string, number | undefined>
      const range = after === undefined ? { limit: most } : { after, limit: most }
      const end = after === undefined ? before : Math.min(before ?? Number.MAX_SAFE_INTEGER, after + most + 1)
      const events = await conversation.events(end === undefined ? range : { ...range, before: end })
      return json({ events, lastSeq: record.lastSeq })
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
      const { conversation } = await existing(call)
      const fork = await conversation.fork(call.body as { at?: number; id?: string })
      return json({ id: fork.id }, 201)
    },
  },
  {
    name: 'continueConversation',
    method: 'POST',
    path: '/conversations/:id/continue',
    summary: 'Goes on with what the log says is to be done',
    body: noBody,
    answer: { status: 202, description: 'Whoever has the agent goes on with it.' },
    async handle(call) {
      await (await existing(call)).conversation.continue()
      return json({}, 202)
    },
  },
]

function shown(record: ConversationRecord) {
  const { id, kind, agent, status, title, parent, lastSeq, createdAt, updatedAt } = record
  return { id, kind, agent, status, title, parent, lastSeq, createdAt, updatedAt }
}
