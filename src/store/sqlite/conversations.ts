import type { PreparedChange, ReadConversation, StoredAttrs, StoredConversation, Wake } from '../driver.ts'
import type { StoredLease } from '../lease.ts'
import { type ConversationFilter, mostTallied, type StatusCount, type Tally } from '../records.ts'
import { forkParents, mergeSettings, rowBytes, searchedText } from '../rows.ts'
import { passesAfter } from '../slots.ts'
import { lastSeq, recordColumns, waiting } from './columns.ts'
import type { Database } from './database.ts'
import { type LeaseColumns, leaseColumns, leaseValues, setLease, setLeaseColumns } from './leases.ts'
import { passes } from './slots.ts'

/** What a commit must know before it decides. */
export type ConversationHead = LeaseColumns & {
  readonly cid: number
  readonly agent: string | null
  readonly lastSeq: number
  readonly dormant: number
  readonly terminating: number
  readonly passes: number
}

export function findConversation(db: Database, tenant: string, id: string): ConversationHead | undefined {
  return db.get(
    `SELECT cid, agent, ${leaseColumns}, dormant, terminating, ${passes} AS passes, ${lastSeq} AS lastSeq
     FROM conversations WHERE tenant = ? AND id = ?`,
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
  { kind, status, agent, owner, forkOf, text, ids, before, ...bounds }: ConversationFilter & { limit: number },
): StoredConversation[] | null {
  return db.snapshot(() => {
    const last = before === undefined ? undefined : getConversation(db, tenant, before)
    if (last === null || (last && owner !== undefined && last.owner !== owner)) return null
    // A conversation has few forks, a user few conversations and a tenant few sessions; walking all by age would read the whole tenant.
    const byKind = kind === 'flow' ? 'sessions' : 'by_age'
    const index = ids ? 'by_id' : forkOf !== undefined ? 'forks' : owner === undefined ? byKind : 'by_owner'
    // As a literal: only then does SQLite know that the index of sessions has all of them.
    const ofKind = index === 'sessions' ? "AND kind = 'flow'" : ''
    const { inId, inTitle } = searchedText(text ?? '')
    const { from, to } = forkParents(forkOf ?? '')
    const ofParent = forkOf === undefined ? '' : 'AND parent >= ? AND parent < ?'
    const ofOwner = owner === undefined ? '' : 'AND owner = ?'
    return db.page<StoredConversation>(
      `SELECT ${recordColumns}, ${waiting} FROM conversations INDEXED BY conversations_${index}
       WHERE tenant = ? ${ofKind} ${ofParent} ${ofOwner} AND (created_at, id) < (?, ?)
       AND kind = coalesce(?, kind) AND status = coalesce(?, status) AND agent IS coalesce(?, agent)
       ${ids ? 'AND id IN (SELECT value FROM json_each(?))' : ''}
       ${text === undefined ? '' : 'AND (instr(lower(id), ?) > 0 OR instr(lower(title), ?) > 0)'}
       ORDER BY created_at DESC, id DESC`,
      bounds,
      rowBytes.conversation,
      tenant,
      ...(forkOf === undefined ? [] : [from, to]),
      ...(owner === undefined ? [] : [owner]),
      last?.createdAt ?? Number.MAX_SAFE_INTEGER,
      last?.id ?? '',
      kind ?? null,
      status ?? null,
      agent ?? null,
      ...(ids ? [JSON.stringify(ids)] : []),
      ...(text === undefined ? [] : [inId, inTitle]),
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
  const owner = inheritedOwner(db, tenant, attrs) ?? attrs.owner ?? null
  return insertConversation(db, tenant, id, {
    kind: 'conversation',
    agent: null,
    status: 'idle',
    settings: '{}',
    fsmState: null,
    title: null,
    parent: null,
    ...attrs,
    owner,
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
     title, fsm_state, settings, idle_seq, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[tenant, id, row.createdAt, row.createdAt, row.wakeAt, row.isDormant ? 1 : 0, row.kind, row.agent],
    ...[row.status, row.childOf, row.parent, row.title, row.fsmState, row.settings, row.idleSeq ?? 0, row.owner],
  )
}

/** The owner of the parent, for a child agent. */
function inheritedOwner(db: Database, tenant: string, { childOf }: StoredAttrs): string | null {
  if (!childOf) return null
  const sql = 'SELECT owner FROM conversations WHERE tenant = ? AND id = ?'
  return db.get<{ owner: string | null }>(sql, tenant, childOf)?.owner ?? null
}

/** Updates the row of a conversation for a change; does nothing when the events say it all. */
export function updateConversation(
  db: Database,
  { cid, dormant, terminating }: ConversationHead,
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
  const isTerminating = passesAfter(events) ?? terminating === 1
  if (isTerminating !== (terminating === 1))
    db.run('UPDATE conversations SET terminating = ? WHERE cid = ?', isTerminating ? 1 : 0, cid)
  writeRareAttrs(db, cid, attrs)
  writeOwner(db, cid, attrs)
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

/** Naming an indexed column writes its index, so the statement is only run where an owner is given. */
function writeOwner(db: Database, cid: number, attrs: StoredAttrs): void {
  if (attrs.owner === undefined && !attrs.childOf) return
  const row = db.get<{ tenant: string; owner: string | null }>(
    'SELECT tenant, owner FROM conversations WHERE cid = ?',
    cid,
  )
  if (!row || row.owner !== null) return
  const owner = inheritedOwner(db, row.tenant, attrs) ?? attrs.owner ?? null
  db.run('UPDATE conversations SET owner = ? WHERE cid = ?', owner, cid)
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

/** How many of the newest events of the file are looked at. */
const mostEvents = 20_000

/**
 * Events are numbered in the order of their commits, so the newest are enough when the first of them is older than `since`. One that is older than its conversation
 * was copied by a fork, and says nothing of those before it.
 */
export function changedSince(db: Database, tenant: string, since: number, limit: number): string[] | null {
  return db.snapshot(() => {
    const newest = db.get<{ id: number | null }>('SELECT max(id) AS id FROM events')?.id ?? 0
    const from = Math.max(0, newest - mostEvents)
    const first = db.get<{ at: number; createdAt: number }>(
      `SELECT at, created_at AS createdAt FROM events NOT INDEXED JOIN conversations USING (cid)
       WHERE events.id > ? ORDER BY events.id LIMIT 1`,
      from,
    )
    if (from > 0 && first && (first.at >= since || first.at < first.createdAt)) return null
    const found = db.all<{ id: string }>(
      `SELECT id FROM conversations WHERE tenant = ? AND cid IN (SELECT cid FROM events NOT INDEXED WHERE id > ? AND at >= ?)
       UNION SELECT id FROM conversations INDEXED BY conversations_by_age WHERE tenant = ? AND created_at >= ?
       UNION SELECT id FROM tombstones WHERE tenant = ? AND at >= ? LIMIT ?`,
      ...[tenant, from, since, tenant, since, tenant, since, limit + 1],
    )
    return found.length > limit ? null : found.map(({ id }) => id)
  })
}

export function tally(db: Database, tenant: string, owner: string | null): Tally {
  return db.snapshot(() => {
    const index = owner === null ? 'by_age' : 'by_owner'
    const ofOwner = owner === null ? [] : [owner]
    const counts = db.all<StatusCount>(
      `SELECT kind, status, count(*) AS count FROM (SELECT kind, status FROM conversations INDEXED BY conversations_${index}
       WHERE tenant = ? ${owner === null ? '' : 'AND owner = ?'} ORDER BY created_at DESC, id DESC LIMIT ?) GROUP BY kind, status`,
      ...[tenant, ...ofOwner, mostTallied + 1],
    )
    const waiting = db.get<{ count: number; oldestAt: number | null }>(
      `SELECT count(*) AS count, min(created_at) AS oldestAt FROM (SELECT calls.created_at FROM calls
       JOIN conversations ON conversations.cid = calls.cid WHERE calls.tenant = ? AND calls.status = 'pending'
       AND calls.kind <> 'sub_agent' ${owner === null ? '' : 'AND conversations.owner = ?'}
       ORDER BY calls.created_at, calls.call_id LIMIT ?)`,
      ...[tenant, ...ofOwner, mostTallied + 1],
    )!
    const total = counts.reduce((sum, { count }) => sum + count, 0)
    const isPartial = total > mostTallied || waiting.count > mostTallied
    return { counts, waiting: waiting.count, oldestAt: waiting.oldestAt, isPartial }
  })
}
