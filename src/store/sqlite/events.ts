import type { StoredEvent, StoredEventRange } from '../driver.ts'
import { rowBytes } from '../fitting-rows.ts'
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
