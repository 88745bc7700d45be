import { checkSignal, readOptions } from '../base/errors/read-options.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { TurnOutcome } from '../engine/live/turn-outcome.ts'
import type { RetryOptions, WhenBusy } from '../engine/turn-options.ts'
import type { LogEvent } from '../log/events.ts'
import type { Answered, AnswerOptions, CallRef } from '../runtime/answer-call.ts'
import type { DeadlineOptions, Extended } from '../runtime/extend-deadline.ts'
import type { HistoryPage } from '../runtime/read/history.ts'
import type { View } from '../view/view.ts'
import {
  allAttempts,
  allExplanations,
  allLineage,
  allModelCalls,
  type EventsRange,
  type Explanation,
  eventPages,
  type Lineage,
  type ModelCallSummary,
  type RemoteModelCall,
  type RemotePage,
  type RemoteRecord,
  readEvents,
} from './pages.ts'
import { type ClientOptions, deleted, givenOptions, pathPart, requestJson } from './request.ts'
import { views, type Watched, type WatchOptions, watch, watchWithMore } from './watch.ts'

/** A user's message: text, or parts. A file is given by its URL, which may be a `data:` URL. */
export type RemoteMessage = string | readonly RemotePart[]

/** A part of a user's message. */
export type RemotePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly data: string; readonly filename?: string }

/** As in the runtime, except that `output` is a JSON Schema. */
export type RemoteSendOptions = {
  /** A repeated key returns the same turn. Without a key, each `send` opens a new turn. */
  readonly key?: string
  readonly whenBusy?: WhenBusy
  /** The turn that this message takes the place of, with all after it: an edit. */
  readonly replaces?: string
  /** With `replaces`: replace the turn even if it started a tool that must not be repeated unasked. */
  readonly force?: boolean
  /** JSON of the request, in `turn.data` of hooks and tools. At most 64 KiB. */
  readonly data?: unknown
  /** A JSON Schema, accepted if the server has `callerSchemas`. False turns off the agent's. */
  readonly output?: JsonObject | false
  readonly untilTool?: string
  /** At most the agent's limit. */
  readonly maxSteps?: number
  /** At most the agent's limit. */
  readonly maxTokens?: number
}

/** A conversation on a server, with the same verbs as in the runtime. */
export type RemoteConversation = {
  readonly id: string
  /** Durable when it resolves. */
  send(message: RemoteMessage, options?: RemoteSendOptions): Promise<{ readonly turnId: string }>
  /** Sends the messages of a turn again, in its place. Default: the newest. */
  retry(turnId?: string, options?: RetryOptions): Promise<{ readonly turnId: string }>
  /** Resolves when the turn has ended or waits for input. */
  outcome(turnId: string, options?: { readonly signal?: AbortSignal }): Promise<TurnOutcome>
  /** Null removes the title. */
  rename(title: string | null): Promise<void>
  /** Null when no turn was open. */
  cancel(options?: { readonly turnId?: string }): Promise<TurnOutcome | { readonly status: 'terminating' } | null>
  approve(call: CallRef, options?: { readonly args?: unknown } & AnswerOptions): Promise<Answered>
  deny(call: CallRef, options?: { readonly reason?: string } & AnswerOptions): Promise<Answered>
  answer(call: CallRef, value: unknown, options?: AnswerOptions): Promise<Answered>
  resolve(call: CallRef, value: unknown, options?: AnswerOptions): Promise<Answered>
  extendDeadline(call: CallRef, options: DeadlineOptions): Promise<Extended>
  /** Data is JSON, at most 64 KiB with its name. */
  note(name: string, data: unknown): Promise<{ readonly seq: number }>
  record(): Promise<RemoteRecord>
  /** `at`: as it was after that event, for people to go back to. Nothing live is in it. `foldView` adds the events that follow. */
  view(options?: { readonly at?: number }): Promise<View>
  history(page?: { readonly before?: number; readonly limit?: number }): Promise<HistoryPage>
  /** Events after `after`, or the newest, read in as many requests as needed. Default of `limit`: 200. */
  events(range?: EventsRange): Promise<LogEvent[]>
  /**
   * The log in pages of at most the server's size: forward from `after`, or back from the end. `limit` applies to one
   * page.
   */
  eventPages(range?: EventsRange): AsyncGenerator<LogEvent[], void, void>
  /** Every event once. Reconnects as needed. */
  watch(options?: WatchOptions): AsyncGenerator<Watched, void, void>
  /** The view after each change. Text is shown as it arrives; other events that arrive together are shown together. */
  views(options?: WatchOptions): AsyncGenerator<View, void, void>
  fork(options?: { readonly at?: number; readonly id?: string }): Promise<RemoteConversation>
  /** The direct forks, newest first. */
  forks(page?: RemotePage): Promise<RemoteRecord[]>
  /** The conversation it was forked from, the one before that, and so on to the first. */
  lineage(): Promise<Lineage>
  continue(): Promise<void>
  /** False when there was none. */
  delete(): Promise<boolean>
  modelCalls(): Promise<ModelCallSummary[]>
  modelCall(turnRef: string): Promise<RemoteModelCall[]>
  explain(turnRef: string): Promise<Explanation[]>
  snapshot(): Promise<Json>
}

type CallIds = { readonly callId: string; readonly round?: number }

const waitMs = 25_000

export function remoteConversation(options: ClientOptions, id: string, agent: string | undefined): RemoteConversation {
  const path = `/conversations/${pathPart('conversation id', id)}`
  const ask = async <T>(place: string, query?: object): Promise<T> =>
    requestJson<T>(options, place, { query: givenOptions('query', query) })
  const get = <T>(rest: string, query?: object): Promise<T> => ask<T>(path + rest, query)
  const post = <T>(rest: string, body: () => unknown = () => ({})): Promise<T> =>
    requestJson<T>(options, path + rest, { method: 'POST', body })
  const answering = async <A = Answered>(call: CallRef, verb: string, body: () => object): Promise<A> => {
    const { callId, round } =
      typeof call === 'string'
        ? { callId: call }
        : readOptions<CallIds, keyof CallIds>('call', call, ['callId', 'round'])
    return post(`/calls/${pathPart('call id', callId)}/${verb}`, () => ({ ...body(), round }))
  }
  const callPath = (turnRef: string): string => `/model-calls/${pathPart('turnRef', turnRef)}`
  const live = `${path}/live`
  return {
    id,
    async send(message, given) {
      const sending = givenOptions('options', given)
      return post('/messages', () => ({ ...sending, message, agent }))
    },
    async retry(turnId, given) {
      const { key, force } = readOptions('options', given, ['key', 'force'])
      return post('/retry', () => ({ turnId, key, force }))
    },
    async outcome(turnId, waiting) {
      const { signal } = readOptions('options', waiting, ['signal'])
      if (signal !== undefined) checkSignal('signal', signal)
      const place = `${path}/turns/${pathPart('turn id', turnId)}/outcome`
      for (;;) {
        const ask = { query: { waitMs }, ...(signal ? { signal } : {}) }
        const found = await requestJson<TurnOutcome | { status: 'running' }>(options, place, ask)
        if (found.status !== 'running') return found
      }
    },
    async cancel(given) {
      const cancelling = givenOptions('options', given)
      return (await post<{ outcome: TurnOutcome | null }>('/cancel', () => cancelling)).outcome
    },
    rename: async (title) => void (await post('/rename', () => ({ title }))),
    async approve(call, given) {
      const approving = givenOptions('options', given)
      return answering(call, 'approve', () => ({ args: approving.args, ...answerOptions(approving) }))
    },
    async deny(call, given) {
      const denying = givenOptions('options', given)
      return answering(call, 'deny', () => ({ reason: denying.reason, ...answerOptions(denying) }))
    },
    async answer(call, value, given) {
      const answered = answerOptions(given)
      return answering(call, 'answer', () => ({ value, ...answered }))
    },
    async resolve(call, value, given) {
      const answered = answerOptions(given)
      return answering(call, 'resolve', () => ({ value, ...answered }))
    },
    async extendDeadline(call, given) {
      const { expiresInMs } = readOptions('options', given ?? null, ['expiresInMs'])
      return answering<Extended>(call, 'deadline', () => ({ expiresInMs }))
    },
    note: async (name, data) => post('/notes', () => ({ name, data })),
    record: () => get(''),
    view: (given) => get('/view', given),
    history: (page) => get('/history', page),
    events: (range) => readEvents(get, '/events', range),
    eventPages: (range) => eventPages(get, '/events', range),
    watch: (watching) => watch(options, live, watching),
    views: (watching) => views(watchWithMore(options, live, watching)),
    async fork(given) {
      const forking = givenOptions('options', given)
      return remoteConversation(options, (await post<{ id: string }>('/fork', () => forking)).id, agent)
    },
    forks: async (page) => (await get<{ forks: RemoteRecord[] }>('/forks', page)).forks,
    lineage: () => allLineage(ask, id, (of) => `/conversations/${pathPart('conversation id', of)}/lineage`),
    continue: async () => void (await post('/continue')),
    delete: () => deleted(options, path, 'conversation_not_found'),
    modelCalls: () => allModelCalls(get, '/model-calls'),
    modelCall: (turnRef) => allAttempts(get, callPath(turnRef)),
    explain: (turnRef) => allExplanations(get, `${callPath(turnRef)}/explain`),
    snapshot: async () => (await get<{ snapshot: Json }>('/snapshot')).snapshot,
  }
}

function answerOptions(given: AnswerOptions | undefined): AnswerOptions {
  return readOptions('options', given, ['key', 'digest'])
}
