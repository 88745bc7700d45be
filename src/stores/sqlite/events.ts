import type { StoredEvent, StoredEventRange } from '../../store/driver.ts'
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

export function eventsAfter(db: Database, tenant: string, id: string, after: number): StoredEvent[] {
  return db.all(
    `SELECT seq, at, type, content FROM events
     WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?) AND seq > ? ORDER BY seq`,
    tenant,
    id,
    after,
  )
}

export function readEvents(db: Database, tenant: string, id: string, range: StoredEventRange): StoredEvent[] {
  const { after = 0, before = Number.MAX_SAFE_INTEGER, limit, type } = range
  if (type !== undefined) return newest(typedEvents(db, tenant, id, { after, before, type }), limit)
  if (limit === undefined && range.before === undefined) return eventsAfter(db, tenant, id, after)
  const descending = db.all<StoredEvent>(
    `SELECT seq, at, type, content FROM events
     WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?) AND seq > ? AND seq < ?
     ORDER BY seq DESC LIMIT ?`,
    tenant,
    id,
    after,
    before,
    limit ?? -1,
  )
  return descending.reverse()
}

function typedEvents(
  db: Database,
  tenant: string,
  id: string,
  { after, before, type }: Required<Omit<StoredEventRange, 'limit'>>,
): StoredEvent[] {
  return db.all(
    `SELECT seq, at, type, content FROM events
     WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?) AND seq > ? AND seq < ? AND type = ?
     ORDER BY seq`,
    tenant,
    id,
    after,
    before,
    type,
  )
}

function newest(events: StoredEvent[], limit: number | undefined): StoredEvent[] {
  return limit === undefined ? events : events.slice(-limit)
}
