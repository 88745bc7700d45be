import { pause } from '../../../base/abort.ts'
import { StoreBusyError } from '../../../base/errors/store-errors.ts'
import { rowSize } from '../../rows.ts'
import type { ConversationRow, RestoredBlob, RestoredConversation, RestoreOutcome } from '../../upkeep.ts'
import type { Connection } from '../connection.ts'
import { findConversation } from '../conversations.ts'
import type { Database } from '../database.ts'
import { findCall, insertCall } from '../events.ts'
import { BusyRetry, isBusy } from '../failure.ts'
import type { GroupCommit } from '../group-commit.ts'
import { forgetOutbox } from '../outbox.ts'

/** The most that is held in memory. A longer conversation is staged in a temporary file first, so that no writer waits while its rows arrive. */
const heldBytes = 4 * 1024 * 1024

type Parts = {
  readonly connection: Connection
  readonly commits: GroupCommit
  readonly alone: <T>(work: (own: Connection) => Promise<T>) => Promise<T>
  readonly busyTimeoutMs: number
}

export async function restoreConversation(
  { connection, commits, alone, busyTimeoutMs }: Parts,
  tenant: string,
  conversation: RestoredConversation,
  rows: AsyncIterable<ConversationRow>,
): Promise<RestoreOutcome> {
  const isTaken = await connection.read((db) => findConversation(db, tenant, conversation.id) !== undefined)
  if (isTaken) return { type: 'exists' }
  const restore = (db: Database, all: () => Iterable<ConversationRow>): RestoreOutcome =>
    refuseRestore(db, tenant, conversation.id, all()) ?? {
      type: 'ok',
      seq: writeRestored(db, tenant, conversation, all()),
    }
  const held: ConversationRow[] = []
  let bytes = 0
  const iterator = rows[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await iterator.next()
      if (next.done) return await commits.write((db) => restore(db, () => held))
      held.push(next.value)
      bytes += rowSize(next.value)
      if (bytes > heldBytes) break
    }
    return await alone(async (own) => {
      const staging = new Staging(own.open())
      for (const row of held.splice(0)) staging.add(row)
      for (;;) {
        const next = await iterator.next()
        if (next.done) break
        staging.add(next.value)
      }
      return await inTransaction(own, busyTimeoutMs, (db) => restore(db, () => staging.rows()))
    })
  } finally {
    await iterator.return?.()
  }
}

async function inTransaction<T>(own: Connection, busyTimeoutMs: number, work: (db: Database) => T): Promise<T> {
  const retry = new BusyRetry(busyTimeoutMs)
  const db = own.open()
  for (;;) {
    try {
      db.run('BEGIN IMMEDIATE')
      const result = work(db)
      // Durable from here: the whole conversation. A crash before this point leaves nothing of it.
      db.run('COMMIT')
      return result
    } catch (error) {
      db.rollBack()
      if (!isBusy(error)) throw error
      const waitMs = retry.next(error)
      if (waitMs instanceof StoreBusyError) throw waitMs
      await pause(waitMs)
    }
  }
}

/** Why the conversation cannot be restored; decided by reading only. `rows` is consumed once. */
function refuseRestore(
  db: Database,
  tenant: string,
  id: string,
  rows: Iterable<ConversationRow>,
): RestoreOutcome | null {
  if (findConversation(db, tenant, id)) return { type: 'exists' }
  for (const { type, row } of rows) {
    if (type === 'call' && findCall(db, tenant, row.id)) return { type: 'call_exists', callId: row.id }
    if (type === 'blob_ref' && blobId(db, tenant, row.hash) === null) return { type: 'blob_missing', hash: row.hash }
  }
  return null
}

/** Must run inside a transaction, after `refuseRestore` found nothing. Returns the last `seq`. */
function writeRestored(
  db: Database,
  tenant: string,
  conversation: RestoredConversation,
  rows: Iterable<ConversationRow>,
): number {
  const cid = insertRestored(db, tenant, conversation)
  let seq = 0
  for (const row of rows) {
    writeRow(db, tenant, cid, row)
    if (row.type === 'event') seq = row.row.seq
  }
  forgetOutbox(db, cid)
  return seq
}

function insertRestored(db: Database, tenant: string, row: RestoredConversation): number {
  return db.insert(
    `INSERT INTO conversations (tenant, id, created_at, updated_at, wake_at, dormant, kind, agent, status, child_of, parent,
     title, fsm_state, settings, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[tenant, row.id, row.createdAt, row.updatedAt, row.wakeAt, row.isDormant ? 1 : 0, row.kind, row.agent],
    ...[row.status, row.childOf, row.parent, row.title, row.fsmState, row.settings, row.owner],
  )
}

function writeRow(db: Database, tenant: string, cid: number, { type, row }: ConversationRow): void {
  switch (type) {
    case 'event':
      db.run(
        'INSERT INTO events (cid, seq, at, type, content) VALUES (?, ?, ?, ?, ?)',
        ...[cid, row.seq, row.at, row.type, row.content],
      )
      return
    case 'call':
      return insertCall(db, tenant, cid, row)
    case 'summary':
      db.run(
        'INSERT INTO summaries (cid, to_seq, from_seq, version, content, base) VALUES (?, ?, ?, ?, ?, ?)',
        ...[cid, row.toSeq, row.fromSeq, row.version, row.content, row.base],
      )
      return
    case 'key':
      db.run('INSERT INTO keys (cid, key, seq, digest) VALUES (?, ?, ?, ?)', cid, row.key, row.seq, row.digest)
      return
    case 'model_call':
      db.run(
        `INSERT INTO model_calls (cid, turn_ref, at, latency_ms, summary_version, status, model, usage, evictions,
         rendered_context, meta) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[cid, row.turnRef, row.at, row.latencyMs, row.summaryVersion, row.status],
        ...[row.model, row.usage, row.evictions, row.renderedContext, row.meta],
      )
      return
    case 'blob_ref':
      db.run(
        'INSERT INTO blob_refs (cid, bid, first_seq) VALUES (?, ?, ?)',
        ...[cid, blobId(db, tenant, row.hash), row.firstSeq],
      )
      return
  }
}

export function blobId(db: Database, tenant: string, hash: string): number | null {
  return db.get<{ bid: number }>('SELECT bid FROM blobs WHERE tenant = ? AND hash = ?', tenant, hash)?.bid ?? null
}

export function restoreBlob(db: Database, tenant: string, { hash, mediaType, pins, bytes }: RestoredBlob): void {
  if (db.run('UPDATE blobs SET pins = max(pins, ?) WHERE tenant = ? AND hash = ?', pins, tenant, hash) > 0) return
  const sql = 'INSERT INTO blobs (tenant, hash, media_type, pins) VALUES (?, ?, ?, ?)'
  const bid = db.insert(sql, tenant, hash, mediaType, pins)
  db.run('INSERT INTO blob_bytes (bid, bytes) VALUES (?, ?)', bid, bytes)
}

export function restoreSnapshot(db: Database, tenant: string, id: string, snapshot: string): boolean {
  const sql = 'INSERT INTO snapshots (tenant, id, snapshot) VALUES (?, ?, ?) ON CONFLICT (tenant, id) DO NOTHING'
  return db.run(sql, tenant, id, snapshot) > 0
}

const pageSize = 50

/** Holds rows in a temporary file of one connection, which SQLite removes with the connection. Needs no lock on the store. */
class Staging {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
    db.exec('PRAGMA temp_store = FILE')
    db.exec('CREATE TEMP TABLE staged (n INTEGER PRIMARY KEY, row TEXT NOT NULL)')
  }

  add(row: ConversationRow): void {
    this.#db.run('INSERT INTO temp.staged (row) VALUES (?)', JSON.stringify(row))
  }

  /** In the order they were added. */
  *rows(): Generator<ConversationRow> {
    let last = 0
    for (;;) {
      const page = this.#db.all<{ n: number; row: string }>(
        'SELECT n, row FROM temp.staged WHERE n > ? ORDER BY n LIMIT ?',
        last,
        pageSize,
      )
      for (const { row } of page) yield JSON.parse(row) as ConversationRow
      if (page.length < pageSize) return
      last = page.at(-1)!.n
    }
  }
}
