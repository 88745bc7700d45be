import { readOptions } from '../../base/errors/read-options.ts'
import type { TenantStore } from '../../store/store.ts'
import { type ListStatus, listStatusOf, type SessionStatus, sessionStatusOf } from './lists.ts'

/** How many conversations, sessions and questions there are. */
export type Totals = {
  /** Conversations by status. A status that none has is absent. */
  readonly conversations: { readonly [Status in ListStatus]?: number }
  /** Sessions of flows by status. */
  readonly sessions: { readonly [Status in SessionStatus]?: number }
  /** What waits for an answer, as in the inbox. `oldestAt`: since when the oldest has waited; null when nothing waits. */
  readonly inbox: { readonly waiting: number; readonly oldestAt: number | null }
  /** Only the newest 20,000 of each were counted, and there are more. */
  readonly isPartial: boolean
}

/** What is counted. */
export type TotalsFilter = {
  /** Only what this user opened. */
  readonly owner?: string
}

/** Null where the store cannot count. */
export async function totalsOf(store: TenantStore, filter: TotalsFilter | undefined): Promise<Totals | null> {
  const { owner } = readOptions('filter', filter, ['owner'])
  const tally = await store.tally(owner === undefined ? {} : { owner })
  if (!tally) return null
  const conversations: Record<string, number> = {}
  const sessions: Record<string, number> = {}
  for (const { kind, status, count } of tally.counts) {
    const [counted, name] =
      kind === 'flow' ? [sessions, sessionStatusOf(status)] : [conversations, listStatusOf(kind, status)]
    counted[name] = (counted[name] ?? 0) + count
  }
  const { waiting, oldestAt, isPartial } = tally
  return { conversations, sessions, inbox: { waiting, oldestAt }, isPartial }
}
