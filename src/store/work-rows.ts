import { readOptions } from '../base/errors/read-options.ts'
import { checkId, checkOneOf, checkWhole } from './checks.ts'
import { quarantineHolder, quarantineUntil } from './lease.ts'
import type { ConversationRef } from './records.ts'

/** A conversation or session that processes work on, or would. */
export type WorkRow = ConversationRef & {
  readonly agent: string | null
  /**
   * `due`: a process may take it now, unless it is paused or its code is missing. `held`: a process has a lease on it. `quarantined`: no process takes it until a
   * person releases it. `resting`: there is nothing to do before its wake-up, if it has one.
   */
  readonly state: WorkState | 'resting'
  /** Since when it is due, held or quarantined. */
  readonly at: number
  /** When it is or was due; null: never. */
  readonly wakeAt: number | null
  /** Null where no process has one, and where it has lapsed. */
  readonly lease: WorkLease | null
  /** How many leases on it have lapsed in a row: see docs/operations.md. */
  readonly lapses: number
}

/** What work is listed. */
export type WorkState = 'due' | 'held' | 'quarantined'

/** Who works on it. `until`: when the lease lapses unless it is renewed. */
export type WorkLease = { readonly holder: string; readonly epoch: number; readonly until: number }

/** Which work is read, the oldest first. Default of `state`: 'due', of `limit`: 100; at most 1,000. `after`: the last row of the previous page. */
export type WorkPage = {
  readonly state?: WorkState
  readonly agent?: string
  readonly limit?: number
  readonly after?: Pick<WorkRow, 'tenant' | 'id' | 'at'>
}

/** A page as a driver gets it. */
export type ReadWorkPage = {
  readonly state: WorkState
  readonly agent: string | null
  readonly limit: number
  readonly after: Pick<WorkRow, 'tenant' | 'id' | 'at'> | null
}

const mostRows = 1_000

export function readWorkPage(input: WorkPage | undefined): ReadWorkPage {
  const read = readOptions<WorkPage, keyof WorkPage>('page', input ?? {}, ['state', 'agent', 'limit', 'after'])
  const { state = 'due', agent, limit = 100, after } = read
  checkOneOf('state', state, ['due', 'held', 'quarantined'])
  if (agent !== undefined) checkId('agent', agent)
  checkWhole('limit', limit, 1)
  return { state, agent: agent ?? null, limit: Math.min(limit, mostRows), after: after ? readPlace(after) : null }
}

function readPlace(input: Pick<WorkRow, 'tenant' | 'id' | 'at'>): Pick<WorkRow, 'tenant' | 'id' | 'at'> {
  const { tenant, id, at } = readOptions<typeof input, keyof typeof input>('after', input, ['tenant', 'id', 'at'])
  checkId('tenant', tenant)
  checkId('conversation id', id)
  checkWhole('at', at, 0)
  return { tenant, id, at }
}

/** What a driver reads from a row. `lapses` is copied from the row, and ignored without a holder. */
export type StoredWork = ConversationRef & {
  readonly agent: string | null
  readonly wakeAt: number | null
  readonly holder: string | null
  readonly epoch: number | null
  readonly until: number | null
  readonly claimedAt: number | null
  readonly lapses: number
  readonly updatedAt: number
}

export function workRowOf(stored: StoredWork, now: number): WorkRow {
  const { tenant, id, agent, wakeAt, holder, epoch, until, claimedAt, lapses, updatedAt } = stored
  const isQuarantined = holder === quarantineHolder && until === quarantineUntil
  const isHeld = holder !== null && until !== null && until > now && !isQuarantined
  const isDue = wakeAt !== null && wakeAt <= now
  const state = isQuarantined ? 'quarantined' : isHeld ? 'held' : isDue ? 'due' : 'resting'
  const at = isQuarantined || isHeld ? (claimedAt ?? 0) : isDue ? wakeAt : updatedAt
  const lease = isHeld ? { holder, epoch: epoch!, until } : null
  return { tenant, id, agent, state, at, wakeAt, lease, lapses: holder === null ? 0 : lapses }
}
