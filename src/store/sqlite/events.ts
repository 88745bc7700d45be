import type {
  DueCall,
  PreparedDeadline,
  StoredCall,
  StoredCallWrite,
  StoredEvent,
  StoredEventRange,
  StoredInboxCall,
} from '../driver.ts'
import type { FinalStatus } from '../records.ts'
import { rowBytes } from '../rows.ts'
import type { InboxFilter } from '../store.ts'
import { quarantinedAt } from './columns.ts'
import type { Database } from './database.ts'

const insertSql = 'INSERT INTO events (cid, seq, at, type, content) VALUES (?, ?, ?, ?, ?)'

export function appendEvents(
  db: Database,
  cid: number,
  lastSeq: number,
  events: readonly { readonly type: string; readonly content: string }[],
  now: number,
): void {
  let seq = lastSeq
  for (const { type, content } of events) {
    seq += 1
    db.run(insertSql, cid, seq, now, type, content)
  }
}

export function timeOf(db: Database, cid: number, seq: number): number | undefined {
  return db.get<{ at: number }>('SELECT at FROM events WHERE cid = ? AND seq = ?', cid, seq)?.at
}

export function readEvents(db: Database, tenant: string, id: string, range: StoredEventRange): StoredEvent[] {
  const { after = 0, before = Number.MAX_SAFE_INTEGER, type, keep = 'newest', ...bounds } = range
  const isReversed = keep === 'newest' && (bounds.limit !== undefined || bounds.maxBytes !== undefined)
  const events = db.page<StoredEvent>(
    `SELECT seq, at, type, content FROM events
     WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?) AND seq > ? AND seq < ?
     ${type === undefined ? '' : 'AND type = ?'} ORDER BY seq ${isReversed ? 'DESC' : 'ASC'}`,
    bounds,
    rowBytes.event,
    ...[tenant, id, after, before, ...(type === undefined ? [] : [type])],
  )
  return isReversed ? events.reverse() : events
}

export type CallHead = {
  readonly cid: number
  readonly status: StoredCall['status']
  readonly round: number
  readonly expiresAt: number | null
}

export function findCall(db: Database, tenant: string, callId: string): CallHead | undefined {
  return db.get(
    'SELECT cid, status, round, expires_at AS expiresAt FROM calls WHERE tenant = ? AND call_id = ?',
    tenant,
    callId,
  )
}

export function pendingIds(db: Database, cid: number): string[] {
  return db
    .all<{ id: string }>("SELECT call_id AS id FROM calls WHERE cid = ? AND status = 'pending'", cid)
    .map(({ id }) => id)
}

const columns = `calls.call_id AS id, conversations.id AS conversationId, calls.name, calls.executor, calls.status, calls.args,
  calls.result, calls.round, calls.kind, calls.prompt, calls.expires_at AS expiresAt, calls.created_at AS createdAt,
  calls.resolved_at AS resolvedAt, calls.resolved_seq AS resolvedSeq, calls.notice, calls.meta`
const source = 'calls JOIN conversations ON conversations.cid = calls.cid'

/** `only`: a further condition, with its values. */
export function getCall(
  db: Database,
  tenant: string,
  callId: string,
  only = '',
  values: readonly string[] = [],
): StoredCall | null {
  const sql = `SELECT ${columns} FROM ${source} WHERE calls.tenant = ? AND calls.call_id = ? ${only}`
  return db.get<StoredCall>(sql, tenant, callId, ...values) ?? null
}

/** In the order of their ids, after the id `after`. */
export function callsOfConversation(db: Database, cid: number, after: string, limit: number): StoredCall[] {
  const sql = `SELECT ${columns} FROM ${source} WHERE calls.cid = ? AND calls.call_id > ? ORDER BY calls.call_id LIMIT ?`
  return db.all(sql, cid, after, limit)
}

/** The same columns without what a model or an application may make large. */
const briefColumns = columns
  .replace('calls.args', "'null' AS args")
  .replace('calls.prompt', "'null' AS prompt")
  .replace('calls.notice, calls.meta', 'NULL AS notice, NULL AS meta')

export function pendingCalls(db: Database, tenant: string, id: string, isBrief = false): StoredCall[] {
  return db.all(
    `SELECT ${isBrief ? briefColumns : columns} FROM ${source} WHERE conversations.tenant = ? AND conversations.id = ? AND calls.status = 'pending'
     ORDER BY calls.created_at, calls.call_id`,
    tenant,
    id,
  )
}

export function inbox(
  db: Database,
  tenant: string,
  { owner, before, ...bounds }: InboxFilter & { readonly limit: number },
): StoredInboxCall[] | null {
  return db.snapshot(() => {
    const ofOwner = owner === undefined ? '' : 'AND conversations.owner = ?'
    const owned = owner === undefined ? [] : [owner]
    const last = before === undefined ? undefined : getCall(db, tenant, before, ofOwner, owned)
    if (last === null) return null
    return db.page<StoredInboxCall>(
      `SELECT ${columns}, conversations.agent, conversations.title, conversations.owner, ${quarantinedAt} FROM ${source}
       WHERE calls.tenant = ? AND calls.status = 'pending' AND (calls.created_at, calls.call_id) < (?, ?)
       ${ofOwner} ORDER BY calls.created_at DESC, calls.call_id DESC`,
      bounds,
      rowBytes.inboxCall,
      tenant,
      last?.createdAt ?? Number.MAX_SAFE_INTEGER,
      last?.id ?? '',
      ...owned,
    )
  })
}

export function dueCalls(db: Database, limit: number): { due: DueCall[]; nextInMs: number | null } {
  const now = Date.now()
  return db.snapshot(() => {
    const due = db.all<DueCall>(
      `SELECT calls.tenant, conversations.id, calls.call_id AS callId, calls.round, calls.kind FROM ${source}
       WHERE calls.status = 'pending' AND calls.expires_at <= ? ORDER BY calls.expires_at LIMIT ?`,
      now,
      limit,
    )
    const next = db.get<{ at: number | null }>(
      "SELECT min(expires_at) AS at FROM calls WHERE status = 'pending' AND expires_at > ?",
      now,
    )
    return { due, nextInMs: next?.at == null ? null : next.at - now }
  })
}

export function moveDeadline(
  db: Database,
  tenant: string,
  { callId, expiresInMs }: PreparedDeadline,
  at: number,
): void {
  const expiresAt = expiresInMs === null ? null : at + expiresInMs
  db.run('UPDATE calls SET expires_at = ? WHERE tenant = ? AND call_id = ?', expiresAt, tenant, callId)
}

export function endCall(
  db: Database,
  tenant: string,
  callId: string,
  { status, result, seq }: { readonly status: FinalStatus; readonly result: string; readonly seq: number | null },
  now: number,
): void {
  db.run(
    'UPDATE calls SET status = ?, result = ?, resolved_at = ?, resolved_seq = ? WHERE tenant = ? AND call_id = ?',
    ...[status, result, now, seq, tenant, callId],
  )
}

export function writeCall(db: Database, tenant: string, cid: number, write: StoredCallWrite, now: number): void {
  const { expiresInMs, ...call } = write
  const expiresAt = expiresInMs === null ? null : now + expiresInMs
  const resolvedAt = call.status === 'pending' ? null : now
  insertCall(db, tenant, cid, { ...call, expiresAt, createdAt: now, resolvedAt, resolvedSeq: null })
}

/** Replaces an existing row, except its creation time, and its `meta` unless there is a new one. */
export function insertCall(db: Database, tenant: string, cid: number, call: Omit<StoredCall, 'conversationId'>): void {
  db.run(
    `INSERT INTO calls (tenant, call_id, cid, status, round, kind, executor, expires_at, created_at, resolved_at, resolved_seq,
     name, args, prompt, result, notice, meta) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, call_id) DO UPDATE SET status = excluded.status, round = excluded.round, kind = excluded.kind,
     executor = excluded.executor, expires_at = excluded.expires_at, resolved_at = excluded.resolved_at,
     resolved_seq = excluded.resolved_seq, name = excluded.name, args = excluded.args, prompt = excluded.prompt,
     result = excluded.result, notice = excluded.notice, meta = coalesce(excluded.meta, calls.meta)`,
    ...[tenant, call.id, cid, call.status, call.round, call.kind, call.executor, call.expiresAt, call.createdAt],
    ...[call.resolvedAt, call.resolvedSeq, call.name, call.args, call.prompt, call.result, call.notice, call.meta],
  )
}
