import { withDeadline } from '../../base/abort.ts'
import { NoSessionError } from '../../base/errors/flow-errors.ts'
import type { RemoteFlow, RemoteFlowStatus, RemoteStanding } from '../../client/flow.ts'
import { tagOf } from '../../define/flow-requests.ts'
import { answerableOps, type FlowState, standingOf } from '../../engine/flow/flow-state.ts'
import { flowBound, loadFlow } from '../../engine/flow/load-flow.ts'
import { lineageOf } from '../../runtime/read/lists.ts'
import { readEvents, readRecord } from '../../runtime/read/read-record.ts'
import type { Verbs } from '../../runtime/runtime.ts'
import type { TenantStore } from '../../store/store.ts'
import { listed } from './local-conversation.ts'

export type LocalFlowContext = {
  readonly verbs: Verbs
  readonly store: TenantStore
  /** Whoever works on it may be another process, or none: then what was asked for is durable, and waits. */
  readonly waitMs: number
}

/** A session in a store. Reading needs no code; starting and resuming need the flow's. */
export function localFlow(context: LocalFlowContext, flow: string, id: string): RemoteFlow {
  const { verbs, store, waitMs } = context
  const session = () => verbs.flow(flow, id)
  const stands = async (reach: (signal: AbortSignal) => Promise<RemoteStanding>): Promise<RemoteStanding> =>
    (await withDeadline(reach, waitMs)) ?? { status: 'running' }

  async function existing(): Promise<FlowState> {
    const loaded = await loadFlow(store, id, flowBound)
    if (loaded?.state.flow !== flow) throw new NoSessionError(id)
    return loaded.state
  }
  return {
    id,
    start: async (input = null, options) => stands((signal) => session().start(input, { ...options, signal })),
    resume: async (value, options) => stands((signal) => session().resume(value, { ...options, signal })),
    continue: async () => stands((signal) => session().continue({ signal })),
    async status(): Promise<RemoteFlowStatus> {
      const state = await existing()
      const standing = standingOf(state, await store.getConversation(id))
      return {
        id,
        status: standing?.status ?? 'running',
        pending: standing?.status === 'suspended' ? standing.tag : null,
        suspensions: answerableOps(state).map(({ seq, at, op, leftOut }) => ({
          seq,
          at,
          tag: tagOf(op),
          schema: 'schema' in op ? (op.schema ?? null) : null,
          ...(leftOut ? { leftOut } : {}),
        })),
        result: state.ended?.status === 'done' ? state.ended.result : null,
      }
    },
    record: async () => readRecord(store, id, await existing(), { maxBytes: Number.MAX_SAFE_INTEGER }),
    async events(range) {
      await existing()
      return readEvents(store, id, { limit: 200, ...range })
    },
    async forks(page) {
      await existing()
      return (await store.listConversations({ ...page, forkOf: id })).map(listed)
    },
    async lineage() {
      await existing()
      return lineageOf(store, id)
    },
    async fork(newId, options) {
      await session().fork(newId, options)
      return localFlow(context, flow, newId)
    },
    async delete() {
      await existing()
      await session().delete()
    },
  }
}
