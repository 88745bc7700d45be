import { checkSignal, readOptions } from '../base/errors/read-options.ts'
import type { Json } from '../base/json.ts'
import type { FlowEndStanding, FlowStanding, FlowStatus } from '../engine/flow/flow-state.ts'
import type { LogEvent } from '../log/events.ts'
import type { FlowRecord, FlowSuspension, SessionForkOptions, WaitOptions } from '../runtime/flow-session.ts'
import { allLineage, type EventsRange, type Lineage, type RemotePage, type RemoteRecord, readEvents } from './pages.ts'
import { type ClientOptions, deleted, givenOptions, pathPart, requestJson } from './request.ts'
import { type WatchOptions, watch } from './watch.ts'

/** How long one request waits. */
const waitMs = 25_000

/** `running`: the session continues by itself. Read its status later, or wait with `outcome`. */
export type RemoteStanding = FlowStanding<Json> | { readonly status: 'running' }

/** An event of a session, and the id to continue after. */
export type WatchedSession = { readonly id: string | null; readonly event: LogEvent }

/** The state of a session. */
export type RemoteFlowStatus = {
  readonly id: string
  readonly status: Exclude<FlowStatus, 'none'>
  readonly pending: Json
  readonly suspensions: readonly FlowSuspension[]
  /** When it continues by itself, if it sleeps; else null. */
  readonly wakeAt: number | null
  readonly result: Json
}

/** A flow session on a server. */
export type RemoteFlow = {
  readonly id: string
  start(input?: Json, options?: { readonly key?: string }): Promise<RemoteStanding>
  resume(value: unknown, options?: { readonly seq?: number; readonly key?: string }): Promise<RemoteStanding>
  continue(): Promise<RemoteStanding>
  /** Waits until it waits for an answer or has ended. */
  outcome(options?: WaitOptions): Promise<FlowEndStanding<Json>>
  status(): Promise<RemoteFlowStatus>
  record(): Promise<FlowRecord>
  /** See `RemoteConversation.events`. */
  events(range?: EventsRange): Promise<LogEvent[]>
  /** The events of its log as they are committed, from the first or after `after`. Reconnects as needed. Ends with the session or the signal. */
  watch(options?: WatchOptions): AsyncGenerator<WatchedSession, void, void>
  fork(newId: string, options?: SessionForkOptions): Promise<RemoteFlow>
  /** The direct forks, newest first. */
  forks(page?: RemotePage): Promise<RemoteRecord[]>
  /** The session it was forked from, the one before that, and so on to the first. */
  lineage(): Promise<Lineage>
  /** False when there was none. */
  delete(): Promise<boolean>
}

export function remoteFlow(options: ClientOptions, flow: string, id: string): RemoteFlow {
  const pathOf = (of: string): string => `/flows/${pathPart('flow', flow)}/sessions/${pathPart('session id', of)}`
  const path = pathOf(id)
  const post = <T>(verb: string, body: () => unknown): Promise<T> =>
    requestJson<T>(options, `${path}/${verb}`, { method: 'POST', body })
  const get = async <T>(rest: string, query?: object): Promise<T> =>
    requestJson<T>(options, `${path}/${rest}`, { query: givenOptions('query', query) })
  return {
    id,
    async start(input, given) {
      const starting = givenOptions('options', given)
      return post('start', () => ({ ...starting, input }))
    },
    async resume(value, given) {
      const resuming = givenOptions('options', given)
      return post('resume', () => ({ ...resuming, value }))
    },
    continue: () => post('continue', () => ({})),
    async outcome(waiting) {
      const { signal } = readOptions('options', waiting, ['signal'])
      if (signal !== undefined) checkSignal('signal', signal)
      for (;;) {
        const ask = { query: { waitMs }, ...(signal ? { signal } : {}) }
        const found = await requestJson<FlowEndStanding<Json> | { status: 'running' }>(options, `${path}/outcome`, ask)
        if (found.status !== 'running') return found
      }
    },
    async *watch(watching) {
      for await (const { id: eventId, event } of watch<LogEvent>(options, `${path}/live`, watching)) {
        yield { id: eventId, event }
        if (event.type === 'flow_ended') return
      }
    },
    status: () => requestJson(options, path),
    record: async () => {
      let { after, ...record } = await get<FlowRecord>('record')
      while (after !== undefined) {
        const next: FlowRecord = await get<FlowRecord>('record', { after })
        record = { ...record, outcomes: [...record.outcomes, ...next.outcomes] }
        after = next.after
      }
      return record
    },
    events: (range) => readEvents(get, 'events', range),
    forks: async (query) => (await get<{ forks: RemoteRecord[] }>('forks', query)).forks,
    lineage: () =>
      allLineage(
        (place) => requestJson(options, place),
        id,
        (of) => `${pathOf(of)}/lineage`,
      ),
    async fork(newId, given) {
      const forking = givenOptions('options', given)
      return remoteFlow(options, flow, (await post<{ id: string }>('fork', () => ({ ...forking, id: newId }))).id)
    },
    delete: () => deleted(options, path, 'no_session'),
  }
}
