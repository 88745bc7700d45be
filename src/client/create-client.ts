import type { Answered, CallRef } from '../runtime/answer-call.ts'
import type { InboxItem } from '../runtime/inbox.ts'
import type { Readiness } from '../runtime/readiness.ts'
import type { ConversationFilter } from '../store/conversation-record.ts'
import type { RemoteRecord } from './answers.ts'
import { type RemoteConversation, remoteConversation } from './conversation.ts'
import { type RemoteFlow, remoteFlow } from './flow.ts'
import { type ClientOptions, requestJson } from './request.ts'

/** The verbs of a runtime that is somewhere else. */
export type Client = {
  /** A handle: no request until a verb is called. `agent` is needed for the first message. */
  conversation(id: string, options?: { readonly agent?: string }): RemoteConversation
  /** `before` asks for the page after this one; null when there is none. */
  conversations(
    filter?: ConversationFilter,
  ): Promise<{ readonly conversations: RemoteRecord[]; readonly before: string | null }>
  inbox(page?: {
    readonly before?: string
    readonly limit?: number
  }): Promise<{ readonly items: InboxItem[]; readonly before: string | null }>
  resolve(conversationId: string, call: CallRef, value: unknown): Promise<Answered>
  flow(name: string, id: string): RemoteFlow
  /** Whether the process answers. */
  health(): Promise<{ readonly status: 'ok' }>
  /** Whether its store and its worker do; rejects with `not_ready` when not. */
  ready(): Promise<{ readonly status: 'ready' } & Pick<Readiness, 'store' | 'worker'>>
}

/** The verbs of a server's runtime, for browsers and Node. Every verb rejects with a `PerdureError`. */
export function createClient(options: ClientOptions): Client {
  const conversation: Client['conversation'] = (id, { agent } = {}) => remoteConversation(options, id, agent)
  return {
    conversation,
    conversations: (filter = {}) => requestJson(options, '/conversations', { query: filter }),
    inbox: (page = {}) => requestJson(options, '/inbox', { query: page }),
    resolve: (conversationId, call, value) => conversation(conversationId).resolve(call, value),
    flow: (name, id) => remoteFlow(options, name, id),
    health: () => requestJson(options, '/health'),
    ready: () => requestJson(options, '/ready'),
  }
}
