import type { Json } from '../base/json.ts'
import type { FlowStanding, FlowStatus } from '../engine/flow/flow-state.ts'
import type { LogEvent } from '../log/events.ts'
import type { FlowRecord, FlowSuspension } from '../runtime/flow-session.ts'
import { allLineage, type EventsRange, type Lineage, type RemotePage, type RemoteRecord, readEvents } from './pages.ts'
import { type ClientOptions, givenOptions, pathPart, requestJson } from './request.ts'

/** `running`: the session continues by itself. Read its status later. */
export type RemoteStanding = FlowStanding<Json> | { readonly status: 'running' }

/** The state of a session. */
export type RemoteFlowStatus = {
  readonly id: string
  readonly status: Exclude<FlowStatus, 'none'>
  readonly pending: Json
  readonly suspensions: readonly FlowSuspension[]
  readonly result: Json
}

/** A flow session on a server. */
export type RemoteFlow = {
  readonly id: string
  start(input?: Json, options?: { readonly key?: string }): Promise<RemoteStanding>
  resume(value: unknown, options?: { readonly seq?: number; readonly key?: string }): Promise<RemoteStanding>
  continue(): Promise<RemoteStanding>
  status(): Promise<RemoteFlowStatus>
  record(): Promise<FlowRecord>
  /** See `RemoteConversation.events`. */
  events(range?: EventsRange): Promise<LogEvent[]>
  fork(newId: string, options?: { readonly at?: number }): Promise<RemoteFlow>
  /** The direct forks, newest first. */
  forks(page?: RemotePage): Promise<RemoteRecord[]>
  /** The session it was forked from, the one before that, and so on to the first. */
  lineage(): Promise<Lineage>
  delete(): Promise<void>
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
    delete: async () => void (await requestJson(options, path, { method: 'DELETE' })),
  }
}
