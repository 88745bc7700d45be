import type { ErrorCode } from '../base/errors/codes.ts'
import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Answered, AnswerOptions, CallRef } from '../runtime/answer-call.ts'
import type { InboxItem, ListedSession, SessionFilter } from '../runtime/read/lists.ts'
import type { Readiness } from '../runtime/readiness.ts'
import type { FlowListing } from '../runtime/runtime.ts'
import type { ConversationFilter } from '../store/records.ts'
import { type RemoteConversation, remoteConversation } from './conversation.ts'
import { type RemoteFlow, remoteFlow } from './flow.ts'
import type { RemoteRecord } from './pages.ts'
import { type ClientOptions, givenOptions, requestJson } from './request.ts'

/** The list entry of a session. */
export type RemoteSession = Omit<ListedSession, 'quarantine' | 'problem'> & {
  readonly quarantinedAt?: number
  readonly problem?: { readonly code: ErrorCode }
}

/** The verbs of a runtime on a server. */
export type Client = {
  /** A handle: no request until a verb is called. `agent` is required for the first message. */
  conversation(id: string, options?: { readonly agent?: string }): RemoteConversation
  /** Pass `before` for the next page; null when there is none. */
  conversations(
    filter?: ConversationFilter,
  ): Promise<{ readonly conversations: RemoteRecord[]; readonly before: string | null }>
  inbox(page?: {
    readonly before?: string
    readonly limit?: number
  }): Promise<{ readonly items: InboxItem[]; readonly before: string | null }>
  resolve(conversationId: string, call: CallRef, value: unknown, options?: AnswerOptions): Promise<Answered>
  flow(name: string, id: string): RemoteFlow
  /** Pass `before` for the next page; null when there is none. */
  sessions(filter?: SessionFilter): Promise<{ readonly sessions: RemoteSession[]; readonly before: string | null }>
  /** The flows whose code the server has. */
  flows(): Promise<FlowListing[]>
  /** Whether the process answers. */
  health(): Promise<{ readonly status: 'ok' }>
  /** Whether its store and worker are ready. Rejects with `not_ready` if not. */
  ready(): Promise<{ readonly status: 'ready' } & Pick<Readiness, 'store' | 'worker'>>
}

/** The verbs of a server's runtime, for browsers and Node. Every verb rejects with a `PerdureError`. */
export function createClient(options: ClientOptions): Client {
  const settings = readClientOptions(options)
  const conversation: Client['conversation'] = (id, naming) =>
    remoteConversation(settings, id, readOptions('options', naming, ['agent']).agent)
  return {
    conversation,
    conversations: async (filter) => requestJson(settings, '/conversations', { query: givenOptions('filter', filter) }),
    inbox: async (page) => requestJson(settings, '/inbox', { query: givenOptions('page', page) }),
    resolve: async (conversationId, call, value, answering) =>
      conversation(conversationId).resolve(call, value, answering),
    flow: (name, id) => remoteFlow(settings, name, id),
    sessions: async (filter) => requestJson(settings, '/sessions', { query: givenOptions('filter', filter) }),
    flows: async () => (await requestJson<{ flows: FlowListing[] }>(settings, '/flows')).flows,
    health: () => requestJson(settings, '/health'),
    ready: () => requestJson(settings, '/ready'),
  }
}

const optionNames = Object.keys({
  url: true,
  token: true,
  operatorToken: true,
  headers: true,
  fetch: true,
} satisfies Record<keyof ClientOptions, true>) as (keyof ClientOptions)[]

function readClientOptions(given: ClientOptions): ClientOptions {
  const { url, ...options } = readOptions<ClientOptions, keyof ClientOptions>('options', given ?? null, optionNames)
  if (typeof url !== 'string' || url === '') throw new InvalidArgumentError('url', 'must be the URL of the server')
  if (options.fetch !== undefined && typeof options.fetch !== 'function')
    throw new InvalidArgumentError('fetch', 'must be a function')
  // A string would be spread into one header per character.
  if (options.headers !== undefined && (typeof options.headers !== 'object' || options.headers === null))
    throw new InvalidArgumentError('headers', 'must be an object')
  return { url, ...options }
}
