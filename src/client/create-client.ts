import type { ErrorCode } from '../base/errors/codes.ts'
import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Answered, AnswerOptions, CallRef } from '../runtime/answer-call.ts'
import type { BulkJob } from '../runtime/bulk/bulk-request.ts'
import type { Bulk } from '../runtime/bulk/bulk-verbs.ts'
import type { InboxItem, ListedSession, ListFilter, SessionFilter } from '../runtime/read/lists.ts'
import type { Totals, TotalsFilter } from '../runtime/read/totals.ts'
import type { Readiness } from '../runtime/readiness.ts'
import type { FlowListing } from '../runtime/runtime.ts'
import type { FailedDelivery, FailedPage, SubscriberState } from '../store/outbox.ts'
import type { Stats, StatsWindow } from '../upkeep/stats.ts'
import { type RemoteConversation, remoteConversation } from './conversation.ts'
import { type RemoteFleet, remoteFleet } from './fleet.ts'
import { type RemoteFlow, remoteFlow } from './flow.ts'
import { type LiveFrame, type LiveOptions, live } from './live.ts'
import type { RemoteRecord } from './pages.ts'
import { type ClientOptions, givenOptions, pathPart, requestJson } from './request.ts'
import type { Watched } from './watch.ts'

/** The list entry of a session. */
export type RemoteSession = Omit<ListedSession, 'quarantine' | 'problem'> & {
  readonly quarantinedAt?: number
  readonly problem?: { readonly code: ErrorCode }
}

/** The verbs of a runtime on a server. Those of `RemoteFleet` are for operators, with `operatorToken`. */
export type Client = RemoteFleet & {
  /** A handle: no request until a verb is called. `agent` is required for the first message. */
  conversation(id: string, options?: { readonly agent?: string }): RemoteConversation
  /**
   * Pass `before` for the next page; null when there is none. `total`: how many there are in all; with a first page that is not the last, where `kind` is
   * `conversation` and only `owner` and `status` are asked for.
   */
  conversations(
    filter?: ListFilter,
  ): Promise<{ readonly conversations: RemoteRecord[]; readonly before: string | null; readonly total?: number }>
  /**
   * What changes in the tenant, as far as the caller may see it, and the events of some conversations: one connection for a page. Reconnects as needed, and
   * continues after the `id` of a frame. Ends with the signal.
   */
  live(options?: LiveOptions): AsyncGenerator<Watched<LiveFrame>, void, void>
  /** How many conversations and sessions there are by status, and how much waits. Null where `authorize` judges rows one by one, or the store cannot count. */
  totals(filter?: TotalsFilter): Promise<Totals | null>
  inbox(page?: {
    readonly owner?: string
    readonly before?: string
    readonly limit?: number
  }): Promise<{ readonly items: InboxItem[]; readonly before: string | null; readonly total?: number }>
  resolve(conversationId: string, call: CallRef, value: unknown, options?: AnswerOptions): Promise<Answered>
  flow(name: string, id: string): RemoteFlow
  /** Pass `before` for the next page; null when there is none. */
  sessions(
    filter?: SessionFilter,
  ): Promise<{ readonly sessions: RemoteSession[]; readonly before: string | null; readonly total?: number }>
  /** The flows whose code the server has. */
  flows(): Promise<FlowListing[]>
  /** For operators, with `operatorToken`: how all tenants have been doing. Default of `window`: hour. */
  stats(options?: { readonly window?: StatsWindow }): Promise<Stats>
  /** For operators, with `operatorToken`, like the next four: the subscribers of the server's store. */
  subscribers(): Promise<SubscriberState[]>
  /** The deliveries to subscribers that were given up, the newest first. */
  failedDeliveries(page?: FailedPage): Promise<FailedDelivery[]>
  /** Has them tried again. Returns how many there were. */
  retryDeliveries(ids: readonly number[]): Promise<number>
  /** Forgets them. Returns how many there were. */
  discardDeliveries(ids: readonly number[]): Promise<number>
  removeSubscriber(name: string): Promise<boolean>
  /** Bulk jobs, for operators, with `operatorToken`. */
  readonly bulk: Bulk
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
  const endDeliveries = async (how: 'retry' | 'discard', ids: readonly number[]): Promise<number> => {
    const ask = { method: 'POST', body: () => ({ ids }) } as const
    return (await requestJson<{ deliveries: number }>(settings, `/store/deliveries/${how}`, ask)).deliveries
  }
  return {
    conversation,
    conversations: async (filter) => requestJson(settings, '/conversations', { query: givenOptions('filter', filter) }),
    live: (watching) => live(settings, watching),
    totals: async (filter) => requestJson(settings, '/totals', { query: givenOptions('filter', filter) }),
    stats: async (asked) => requestJson(settings, '/stats', { query: givenOptions('options', asked) }),
    inbox: async (page) => requestJson(settings, '/inbox', { query: givenOptions('page', page) }),
    resolve: async (conversationId, call, value, answering) =>
      conversation(conversationId).resolve(call, value, answering),
    flow: (name, id) => remoteFlow(settings, name, id),
    sessions: async (filter) => requestJson(settings, '/sessions', { query: givenOptions('filter', filter) }),
    flows: async () => (await requestJson<{ flows: FlowListing[] }>(settings, '/flows')).flows,
    subscribers: async () =>
      (await requestJson<{ subscribers: SubscriberState[] }>(settings, '/store/subscribers')).subscribers,
    failedDeliveries: async (page) => {
      const query = givenOptions('page', page)
      return (await requestJson<{ deliveries: FailedDelivery[] }>(settings, '/store/deliveries', { query })).deliveries
    },
    retryDeliveries: (ids) => endDeliveries('retry', ids),
    discardDeliveries: (ids) => endDeliveries('discard', ids),
    removeSubscriber: async (name) => {
      const ask = { method: 'POST', body: () => ({ name }) } as const
      return (await requestJson<{ removed: boolean }>(settings, '/store/subscribers/remove', ask)).removed
    },
    bulk: remoteBulk(settings),
    ...remoteFleet(settings),
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

/** The verbs of bulk jobs on a server. */
function remoteBulk(settings: ClientOptions): Bulk {
  const post = <T>(path: string, given: object): Promise<T> => {
    const body = givenOptions('request', given)
    return requestJson<T>(settings, path, { method: 'POST', body: () => body })
  }
  const pathOf = (id: string): string => `/store/jobs/${pathPart('job id', id)}`
  return {
    count: async (request) => post('/store/jobs/count', request),
    start: async (request) => (await post<{ job: BulkJob }>('/store/jobs', request)).job,
    list: async (page) => {
      const query = givenOptions('page', page)
      return (await requestJson<{ jobs: BulkJob[] }>(settings, '/store/jobs', { query })).jobs
    },
    get: async (id) => (await requestJson<{ job: BulkJob | null }>(settings, pathOf(id))).job,
    stop: async (id) => (await post<{ stopped: boolean }>(`${pathOf(id)}/stop`, {})).stopped,
  }
}
