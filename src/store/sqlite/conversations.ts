import type { PreparedChange, ReadConversation, StoredAttrs, StoredConversation, Wake } from '../driver.ts'
import type { StoredLease } from '../lease.ts'
import type { ConversationFilter } from '../records.ts'
import { forkParents, mergeSettings, rowBytes } from '../rows.ts'
import { lastSeq, recordColumns } from './columns.ts'
import type { Database } from './database.ts'
import { type LeaseColumns, leaseColumns, leaseValues, setLease, setLeaseColumns } from './leases.ts'

/** What a commit must know before it decides. */
export type ConversationHead = LeaseColumns & {
  readonly cid: number
  readonly agent: string | null
  readonly lastSeq: number
  readonly dormant: number
}

export function findConversation(db: Database, tenant: string, id: string): ConversationHead | undefined {
  return db.get(
    `SELECT cid, agent, ${leaseColumns}, dormant, ${lastSeq} AS lastSeq FROM conversations WHERE tenant = ? AND id = ?`,
    tenant,
    id,
  )
}

export function getConversation(db: Database, tenant: string, id: string): ReadConversation | null {
  const sql = `SELECT ${recordColumns}, idle_seq AS idleSeq FROM conversations WHERE tenant = ? AND id = ?`
  return db.get<ReadConversation>(sql, tenant, id) ?? null
}

export function listConversations(
  db: Database,
  tenant: string,
  { kind, status, agent, forkOf, before, ...bounds }: ConversationFilter & { limit: number },
): StoredConversation[] | null {
  return db.snapshot(() => {
    const last = before === undefined ? undefined : getConversation(db, tenant, before)
    if (last === null) return null
    // A conversation has few forks; walking all conversations by age would read the whole tenant.
    const index = forkOf === undefined ? 'by_age' : 'forks'
    const { from, to } = forkParents(forkOf ?? '')
    const ofParent = forkOf === undefined ? '' : 'AND parent >= ? AND parent < ?'
    return db.page<StoredConversation>(
      `SELECT ${recordColumns} FROM conversations INDEXED BY conversations_${index}
       WHERE tenant = ? ${ofParent} AND (created_at, id) < (?, ?)
       AND kind = coalesce(?, kind) AND status = coalesce(?, status) AND agent IS coalesce(?, agent)
       ORDER BY created_at DESC, id DESC`,
      bounds,
      rowBytes.conversation,
      tenant,
      ...(forkOf === undefined ? [] : [from, to]),
      last?.createdAt ?? Number.MAX_SAFE_INTEGER,
      last?.id ?? '',
      kind ?? null,
      status ?? null,
      agent ?? null,
    )
  })
}

/** Returns its `cid`. */
export function createConversation(
  db: Database,
  tenant: string,
  id: string,
  { attrs, wake }: Pick<PreparedChange, 'attrs' | 'wake'>,
  now: number,
): number {
  return insertConversation(db, tenant, id, {
    ...{ kind: 'conversation', agent: null, status: 'idle', settings: '{}', fsmState: null, title: null, parent: null },
    ...attrs,
    childOf: attrs.childOf ?? null,
    createdAt: now,
    wakeAt: wake.type === 'in' ? now + wake.ms : null,
    isDormant: false,
  })
}

type NewConversation = Omit<
  StoredConversation,
  'id' | 'lastSeq' | 'updatedAt' | 'quarantinedAt' | 'quarantineEpoch'
> & {
  readonly idleSeq?: number
  readonly childOf: string | null
  readonly wakeAt: number | null
  readonly isDormant: boolean
}

export function insertConversation(db: Database, tenant: string, id: string, row: NewConversation): number {
  return db.insert(
    `INSERT INTO conversations (tenant, id, created_at, updated_at, wake_at, dormant, kind, agent, status, child_of, parent,
     title, fsm_state, settings, idle_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[tenant, id, row.createdAt, row.createdAt, row.wakeAt, row.isDormant ? 1 : 0, row.kind, row.agent],
    ...[row.status, row.childOf, row.parent, row.title, row.fsmState, row.settings, row.idleSeq ?? 0],
  )
}

/** Updates the row of a conversation for a change; does nothing when the events say it all. */
export function updateConversation(
  db: Database,
  { cid, dormant }: ConversationHead,
  { events, attrs, wake }: PreparedChange,
  lease: StoredLease | 'none' | 'as it is',
  now: number,
): void {
  const woken = wakeUp(wake, dormant === 1, now)
  const status = woken?.status ?? attrs.status ?? null
  const fsmState = attrs.fsmState ?? null
  const idleSeq = attrs.idleSeq ?? null
  const cached = [now, status, fsmState, idleSeq]
  // Naming an indexed column writes its index, so the wake-up and the lease are named only where they may change, and together.
  if (woken && lease !== 'as it is') {
    const set = `${setCached}, wake_at = ?, dormant = ?, ${setLeaseColumns}`
    const held = leaseValues(lease === 'none' ? null : lease)
    db.run(`${set} WHERE cid = ?`, ...cached, woken.wakeAt, woken.isDormant ? 1 : 0, ...held, cid)
  } else if (woken) {
    db.run(
      `${setCached}, wake_at = ?, dormant = ? WHERE cid = ?`,
      ...cached,
      woken.wakeAt,
      woken.isDormant ? 1 : 0,
      cid,
    )
  } else {
    const isChanged = status !== null || fsmState !== null || events.length === 0
    if (isChanged) db.run(`${setCached} WHERE cid = ?`, ...cached, cid)
    if (lease !== 'as it is') setLease(db, cid, lease === 'none' ? null : lease)
  }
  writeRareAttrs(db, cid, attrs)
}

const setCached = `UPDATE conversations SET updated_at = ?, status = coalesce(?, status), fsm_state = coalesce(?, fsm_state),
  idle_seq = coalesce(?, idle_seq)`

type WakeUp = { readonly wakeAt: number | null; readonly isDormant: boolean; readonly status?: 'active' }

/** Null: unchanged. */
function wakeUp(wake: Wake, isDormant: boolean, now: number): WakeUp | null {
  switch (wake.type) {
    case 'in':
      return { wakeAt: now + wake.ms, isDormant: false }
    case 'expiry':
      return isDormant ? null : { wakeAt: now, isDormant, status: 'active' }
    case 'clear':
      return { wakeAt: null, isDormant }
    case 'keep':
      return null
  }
}

function writeRareAttrs(
  db: Database,
  cid: number,
  { kind, agent, settings, title, parent, childOf }: StoredAttrs,
): void {
  if (kind !== undefined) db.run('UPDATE conversations SET kind = ? WHERE cid = ?', kind, cid)
  if (agent !== undefined) db.run('UPDATE conversations SET agent = ? WHERE cid = ?', agent, cid)
  if (title !== undefined) db.run('UPDATE conversations SET title = ? WHERE cid = ?', title, cid)
  if (parent !== undefined) db.run('UPDATE conversations SET parent = ? WHERE cid = ?', parent, cid)
  if (childOf !== undefined) db.run('UPDATE conversations SET child_of = ? WHERE cid = ?', childOf, cid)
  if (settings !== undefined) {
    const current = db.get<{ settings: string }>('SELECT settings FROM conversations WHERE cid = ?', cid)!
    db.run('UPDATE conversations SET settings = ? WHERE cid = ?', mergeSettings(current.settings, settings), cid)
  }
}
