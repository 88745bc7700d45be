import { flowOfAgent } from '../../define/define-flow.ts'
import type { EngineNode } from '../../engine/node.ts'
import type { ConversationRecord } from '../../store/records.ts'
import type { Unsubscribe } from '../../store/store.ts'
import { type ListedConversation, type ListedSession, listedConversation, listedSession } from './lists.ts'

/** What changes in a tenant, for feeds that several callers share. It is below `authorize`: what a caller may see of it, `ChangesFor.allows` says. */
export type TenantChanges = {
  readonly tenant: string
  /** Calls back with the ids of conversations that may have changed, here or in another process. Some may be missed: `since` finds them. */
  onChange(listener: (id: string) => void): Unsubscribe
  /** The ids of what changed or was deleted since then by the store's clock. Null: too much, or the store cannot tell. */
  since(at: number, limit: number): Promise<string[] | null>
  /** The rows that exist of these, at most 1,000. */
  rows(ids: readonly string[]): Promise<ChangedRow[]>
}

/** A conversation or session as it is now, with its rows in the inbox. */
export type ChangedRow = {
  /** What `authorize` judges. */
  readonly record: ConversationRecord
  readonly listed: { readonly conversation: ListedConversation } | { readonly session: ListedSession }
  readonly calls: readonly { readonly callId: string; readonly round: number }[]
}

/** What one caller may see of the changes of its tenant. */
export type ChangesFor = {
  readonly changes: TenantChanges
  /** Whether the caller sees everything of the tenant: then it may be told of what is gone, which cannot be judged any more. */
  seesAll(): Promise<boolean>
  allows(record: ConversationRecord): Promise<boolean>
  /** Whether the caller may also read what is in it. */
  reads(record: ConversationRecord): Promise<boolean>
}

const mostCalls = 100

export function tenantChanges(
  { store, pauses }: Pick<EngineNode, 'store' | 'pauses'>,
  tenant: string,
  problemOf: (record: ConversationRecord) => Parameters<typeof listedConversation>[1],
): TenantChanges {
  const own = store.forTenant(tenant)
  return {
    tenant,
    onChange: (listener) =>
      store.onWake((hint) => {
        if (hint.tenant === tenant) listener(hint.id)
      }),
    since: (at, limit) => own.changedSince(at, limit),
    async rows(ids) {
      const records = await own.listConversations({ ids, limit: Math.max(1, ids.length) })
      const found = await pauses.of(records.map(({ id, agent }) => ({ tenant, id, agent })))
      const rows = records.map(async (record, index): Promise<ChangedRow> => {
        const paused = found[index] ? { paused: { at: found[index].at } } : {}
        const waiting = record.waiting ? await own.pendingCallNames(record.id) : []
        const calls = waiting
          .filter(({ kind }) => kind !== 'sub_agent')
          .slice(0, mostCalls)
          .map(({ id: callId, round }) => ({ callId, round }))
        const problem = problemOf(record)
        const isSession = record.kind === 'flow' && flowOfAgent(record.agent) !== null
        const listed = isSession
          ? { session: { ...listedSession(record, problem), ...paused } }
          : { conversation: { ...listedConversation(record, problem), ...paused } }
        return { record, listed, calls }
      })
      return Promise.all(rows)
    },
  }
}
