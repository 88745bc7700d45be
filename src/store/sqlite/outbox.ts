import {
  type ClaimDeliveries,
  claimRecordedMs,
  type Delivery,
  type DeliveryEnd,
  type FailedDelivery,
  type Outbox,
  type Registered,
  type SettledDelivery,
  type SubscriberState,
  type Subscription,
  stoppedSince,
  stopsAfterMs,
} from '../outbox.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'
import type { GroupCommit } from './group-commit.ts'
import { nextEpoch } from './leases.ts'

export function sqliteOutbox(connection: Connection, commits: GroupCommit): Outbox {
  return {
    register: (subscribers) => commits.write((db) => subscribers.map((subscription) => register(db, subscription))),
    async claim(request) {
      // Most of the time nothing is due, and then nothing is written.
      const hasWork = await connection.read((db) => request.subscribers.some((name) => hasToClaim(db, name, request)))
      return hasWork ? commits.write((db) => request.subscribers.flatMap((name) => claim(db, name, request))) : []
    },
    settle: (delivery, end) => commits.write((db) => settle(db, delivery, end)),
    failed: ({ subscriber, before, limit } = {}) =>
      connection.read((db) => {
        const of = subscriber === undefined ? '' : 'AND f.subscriber = ?'
        return db.all<FailedDelivery>(
          `SELECT f.id, f.subscriber, c.tenant, c.id AS conversationId, f.seq, f.tries, f.error, f.failed_at AS failedAt
           FROM outbox_failed f JOIN conversations c USING (cid) WHERE f.id < ? ${of} ORDER BY f.id DESC LIMIT ?`,
          ...[before ?? Number.MAX_SAFE_INTEGER, ...(subscriber === undefined ? [] : [subscriber]), limit ?? -1],
        )
      }),
    endFailed: (ids, how) => commits.write((db) => ids.filter((id) => endFailed(db, id, how)).length),
    subscribers: () => connection.read((db) => db.snapshot(() => subscribers(db))),
    removeSubscriber: (name) => commits.write((db) => removeSubscriber(db, name)),
  }
}

/** The tables with a row for each subscriber of a conversation. */
export const outboxTables = ['outbox', 'outbox_lines', 'outbox_failed']

/** The trigger has written rows for the events of a copied conversation. Must run in the transaction that copied it. */
export function forgetOutbox(db: Database, cid: number): void {
  for (const table of outboxTables) db.run(`DELETE FROM ${table} WHERE cid = ?`, cid)
}

const subscribed = `FROM subscriptions n JOIN subscribers s ON s.name = n.subscriber JOIN conversations c ON c.cid = NEW.cid
    WHERE n.type = NEW.type AND NEW.at < s.claimed_at + ${stopsAfterMs} AND (s.agent IS NULL OR s.agent = c.agent)`

/** A commit writes the row of its conversation before its events, so the agent is the one it has after the commit. */
const createTrigger = `
CREATE TRIGGER IF NOT EXISTS outbox_rows AFTER INSERT ON events WHEN NEW.type IN (SELECT type FROM subscriptions)
BEGIN
  INSERT INTO outbox (cid, subscriber, seq) SELECT NEW.cid, s.name, NEW.seq ${subscribed} ON CONFLICT DO NOTHING;
  INSERT INTO outbox_lines (cid, subscriber, due_at, tries) SELECT NEW.cid, s.name, NEW.at, 0 ${subscribed} ON CONFLICT DO NOTHING;
END`

function register(db: Database, { name, types, agent }: Subscription): Registered {
  const now = Date.now()
  const known = db.get<{ claimedAt: number }>('SELECT claimed_at AS claimedAt FROM subscribers WHERE name = ?', name)
  db.run(
    `INSERT INTO subscribers (name, agent, claimed_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET agent = excluded.agent, claimed_at = excluded.claimed_at`,
    ...[name, agent, now],
  )
  const before = typesOf(db, name)
  if (before.join() !== types.join()) {
    db.run('DELETE FROM subscriptions WHERE subscriber = ?', name)
    for (const type of types) db.run('INSERT INTO subscriptions (type, subscriber) VALUES (?, ?)', type, name)
    if (before.some((type) => !types.includes(type))) dropOtherTypes(db, name)
  }
  // Durable from here, when the group is: every later commit of any process writes rows for the subscriber.
  db.run(createTrigger)
  return { name, isNew: known === undefined, stoppedAt: known ? stoppedSince(known.claimedAt, now) : null }
}

function typesOf(db: Database, name: string): string[] {
  const sql = 'SELECT type FROM subscriptions WHERE subscriber = ? ORDER BY type'
  return db.all<{ type: string }>(sql, name).map(({ type }) => type)
}

function dropOtherTypes(db: Database, name: string): void {
  db.run(
    `DELETE FROM outbox WHERE subscriber = ? AND NOT EXISTS (
       SELECT 1 FROM events e JOIN subscriptions n ON n.type = e.type
       WHERE e.cid = outbox.cid AND e.seq = outbox.seq AND n.subscriber = outbox.subscriber)`,
    name,
  )
  const isEmpty =
    'NOT EXISTS (SELECT 1 FROM outbox o WHERE o.cid = outbox_lines.cid AND o.subscriber = outbox_lines.subscriber)'
  db.run(`DELETE FROM outbox_lines WHERE subscriber = ? AND ${isEmpty}`, name)
}

function hasToClaim(db: Database, name: string, { lapsed }: ClaimDeliveries): boolean {
  const now = Date.now()
  const sql = `SELECT 1 FROM outbox_lines WHERE subscriber = ? AND due_at <= ? AND token IS ${lapsed ? 'NOT NULL' : 'NULL'}
    UNION ALL SELECT 1 FROM subscribers WHERE name = ? AND claimed_at <= ? LIMIT 1`
  return db.get(sql, name, now, name, now - claimRecordedMs) !== undefined
}

type Line = { readonly cid: number; readonly tenant: string; readonly conversationId: string; readonly tries: number }

function claim(db: Database, name: string, { limit, leaseMs, lapsed }: ClaimDeliveries): Delivery[] {
  const now = Date.now()
  db.run('UPDATE subscribers SET claimed_at = ? WHERE name = ? AND claimed_at <= ?', now, name, now - claimRecordedMs)
  const lines = db.all<Line>(
    `SELECT l.cid, c.tenant, c.id AS conversationId, l.tries + ${lapsed ? 1 : 0} AS tries
     FROM outbox_lines l JOIN conversations c USING (cid)
     WHERE l.subscriber = ? AND l.due_at <= ? AND l.token IS ${lapsed ? 'NOT NULL' : 'NULL'} ORDER BY l.due_at LIMIT ?`,
    ...[name, now, limit],
  )
  return lines.map(({ cid, tenant, conversationId, tries }) => {
    const token = nextEpoch(db)
    db.run(
      'UPDATE outbox_lines SET due_at = ?, tries = ?, token = ? WHERE cid = ? AND subscriber = ?',
      ...[now + leaseMs, tries, token, cid, name],
    )
    return { subscriber: name, tenant, conversationId, seq: firstOf(db, cid, name)!, tries, token }
  })
}

/** A line has at least one row. */
function firstOf(db: Database, cid: number, subscriber: string): number | null {
  const sql = 'SELECT min(seq) AS seq FROM outbox WHERE cid = ? AND subscriber = ?'
  return db.get<{ seq: number | null }>(sql, cid, subscriber)!.seq
}

function settle(db: Database, delivery: Delivery, end: DeliveryEnd): SettledDelivery {
  const { subscriber, tenant, conversationId, seq, tries, token } = delivery
  const now = Date.now()
  const line = db.get<{ cid: number }>(
    `SELECT l.cid FROM conversations c JOIN outbox_lines l USING (cid)
     WHERE c.tenant = ? AND c.id = ? AND l.subscriber = ? AND l.token = ?`,
    ...[tenant, conversationId, subscriber, token],
  )
  if (!line) return { type: 'lost' }
  const { cid } = line
  const setLine = 'UPDATE outbox_lines SET due_at = ?, tries = ?, token = ? WHERE cid = ? AND subscriber = ?'
  if (end.type === 'again') {
    const isFirst = firstOf(db, cid, subscriber) === seq
    db.run(setLine, now + end.inMs, isFirst ? end.tries : 0, null, cid, subscriber)
    return { type: 'ok', next: null }
  }
  const wasThere = db.run('DELETE FROM outbox WHERE cid = ? AND subscriber = ? AND seq = ?', cid, subscriber, seq) > 0
  if (end.type === 'failed' && wasThere) {
    const sql = 'INSERT INTO outbox_failed (cid, subscriber, seq, tries, failed_at, error) VALUES (?, ?, ?, ?, ?, ?)'
    db.run(sql, cid, subscriber, seq, tries + 1, now, end.error)
  }
  const next = firstOf(db, cid, subscriber)
  if (next === null) db.run('DELETE FROM outbox_lines WHERE cid = ? AND subscriber = ?', cid, subscriber)
  else db.run(setLine, now + (end.leaseMs ?? 0), 0, end.leaseMs === undefined ? null : token, cid, subscriber)
  const isTakenAlong = next !== null && end.leaseMs !== undefined
  return { type: 'ok', next: isTakenAlong ? { ...delivery, seq: next, tries: 0 } : null }
}

function endFailed(db: Database, id: number, how: 'retry' | 'discard'): boolean {
  const row = db.get<{ cid: number; subscriber: string; seq: number }>(
    'DELETE FROM outbox_failed WHERE id = ? RETURNING cid, subscriber, seq',
    id,
  )
  if (!row || how === 'discard') return row !== undefined
  const { cid, subscriber, seq } = row
  db.run('INSERT INTO outbox (cid, subscriber, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING', cid, subscriber, seq)
  // A delivery that is under way comes first: a line has one at a time.
  db.run(
    `INSERT INTO outbox_lines (cid, subscriber, due_at, tries) VALUES (?, ?, ?, 0)
     ON CONFLICT (cid, subscriber) DO UPDATE SET due_at = excluded.due_at, tries = 0 WHERE token IS NULL`,
    ...[cid, subscriber, Date.now()],
  )
  return true
}

function subscribers(db: Database): SubscriberState[] {
  const now = Date.now()
  const rows = db.all<Omit<SubscriberState, 'types' | 'stoppedAt'>>(
    `SELECT name, agent, claimed_at AS claimedAt,
       (SELECT count(*) FROM outbox_lines l JOIN outbox o USING (cid, subscriber) WHERE l.subscriber = name) AS waiting,
       (SELECT count(*) FROM outbox_failed f WHERE f.subscriber = name) AS failed
     FROM subscribers ORDER BY name`,
  )
  return rows.map((row) => ({ ...row, types: typesOf(db, row.name), stoppedAt: stoppedSince(row.claimedAt, now) }))
}

function removeSubscriber(db: Database, name: string): boolean {
  for (const table of outboxTables) db.run(`DELETE FROM ${table} WHERE subscriber = ?`, name)
  db.run('DELETE FROM subscriptions WHERE subscriber = ?', name)
  const wasThere = db.run('DELETE FROM subscribers WHERE name = ?', name) > 0
  if (db.get('SELECT 1 FROM subscribers LIMIT 1') === undefined) db.run('DROP TRIGGER IF EXISTS outbox_rows')
  return wasThere
}
