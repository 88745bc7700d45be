import type { SQLInputValue } from 'node:sqlite'
import { quarantineHolder } from '../../lease.ts'
import {
  type Collected,
  type CollectRequest,
  mostFigures,
  type Rebuilt,
  type StoredFigures,
  type Upkeep,
} from '../../upkeep.ts'
import { Connection, renewLog } from '../connection.ts'
import { findConversation, getConversation } from '../conversations.ts'
import type { Database } from '../database.ts'
import { insertCall } from '../events.ts'
import { leaveTombstone } from '../fork-and-delete.ts'
import type { GroupCommit } from '../group-commit.ts'
import { knownVersion, readSchemaVersion } from '../migrate.ts'
import { sqliteReader } from './reader.ts'
import { blobId, restoreBlob, restoreConversation, restoreSnapshot } from './restore.ts'

/** Long reads and large writes get a connection of their own: the store's connection must stay free for commits. */
export function sqliteUpkeep(connection: Connection, commits: GroupCommit): Upkeep {
  const { path, busyTimeoutMs } = connection

  async function alone<T>(work: (own: Connection) => Promise<T>): Promise<T> {
    const own = new Connection(path, busyTimeoutMs)
    try {
      return await work(own)
    } catch (error) {
      throw own.failed(error)
    } finally {
      own.drop()
    }
  }

  return {
    figures: (windowMs) => alone((own) => own.read((db) => figures(db, windowMs))),
    snapshot: (work) =>
      alone(async (own) => {
        const reader = await own.read((db) => {
          db.rollBack()
          db.run('BEGIN')
          return sqliteReader(db)
        })
        return await work(reader)
      }),
    restoreConversation: (tenant, conversation, rows) =>
      restoreConversation({ connection, commits, alone, busyTimeoutMs }, tenant, conversation, rows),
    restoreBlob: (tenant, blob) => commits.write((db) => restoreBlob(db, tenant, blob)),
    restoreSnapshot: (tenant, id, snapshot) => commits.write((db) => restoreSnapshot(db, tenant, id, snapshot)),
    restoreTombstone: (tenant, { id, at }) => commits.write((db) => leaveTombstone(db, tenant, id, at)),
    rebuild: (tenant, id, rebuilt) => commits.write((db) => rebuild(db, tenant, id, rebuilt)),
    collect: (request) =>
      request.isDryRun ? connection.read((db) => collect(db, request)) : commits.write((db) => collect(db, request)),
    compact: () =>
      alone(async (own) => {
        await own.read((db) => db.exec('VACUUM'))
        await own.read(renewLog)
      }),
    async schema() {
      return { found: readSchemaVersion(path), known: knownVersion }
    },
    async migrate() {
      const found = readSchemaVersion(path)
      // Opening the store migrates it.
      await connection.read(() => {})
      return { found, known: knownVersion }
    },
  }
}

/** Excludes `lastSeq`: this store reads it from the events. */
const columnNames = {
  kind: 'kind',
  status: 'status',
  fsmState: 'fsm_state',
  idleSeq: 'idle_seq',
  title: 'title',
  childOf: 'child_of',
  owner: 'owner',
  wakeAt: 'wake_at',
} as const

/** Must run inside a transaction. */
function rebuild(db: Database, tenant: string, id: string, rebuilt: Rebuilt): 'ok' | 'moved' | 'held' {
  const { expected, columns, putCalls, removeCalls, bases, putBlobRefs, removeBlobRefs } = rebuilt
  const head = findConversation(db, tenant, id)
  const record = getConversation(db, tenant, id)
  if (!head || record?.lastSeq !== expected.lastSeq || record.updatedAt !== expected.updatedAt) return 'moved'
  const isHeld = head.leaseUntil !== null && head.leaseUntil > Date.now()
  if (isHeld && head.leaseHolder !== quarantineHolder) return 'held'
  const { cid } = head
  for (const [name, column] of Object.entries(columnNames)) {
    const value = columns[name as keyof typeof columnNames] as SQLInputValue | undefined
    if (value !== undefined) db.run(`UPDATE conversations SET ${column} = ? WHERE cid = ?`, value, cid)
  }
  for (const callId of [...removeCalls, ...putCalls.map((call) => call.id)]) {
    db.run('DELETE FROM calls WHERE tenant = ? AND call_id = ? AND cid = ?', tenant, callId, cid)
  }
  for (const call of putCalls) insertCall(db, tenant, cid, call)
  for (const { toSeq, base } of bases) {
    db.run('UPDATE summaries SET base = ? WHERE cid = ? AND to_seq = ?', base, cid, toSeq)
  }
  for (const hash of [...removeBlobRefs, ...putBlobRefs.map((ref) => ref.hash)]) {
    db.run('DELETE FROM blob_refs WHERE cid = ? AND bid = ?', cid, blobId(db, tenant, hash))
  }
  for (const { hash, firstSeq } of putBlobRefs) {
    const bid = blobId(db, tenant, hash)
    if (bid !== null) db.run('INSERT INTO blob_refs (cid, bid, first_seq) VALUES (?, ?, ?)', cid, bid, firstSeq)
  }
  return 'ok'
}

/** Must run inside a transaction, unless it only counts. */
function collect(db: Database, request: CollectRequest): Collected {
  switch (request.what) {
    case 'model_calls':
      return { rows: modelCalls(db, request), bytes: 0 }
    case 'blobs':
      return blobs(db, request)
    case 'pins':
      return { rows: pins(db, request), bytes: 0 }
    case 'orphans':
      return {
        rows: remove(db, ['keys', 'summaries', 'model_calls'], `${isGone} AND ${hasNoEvents}`, request),
        bytes: 0,
      }
    case 'derived_orphans':
      return { rows: remove(db, ['calls'], isGone, request) + danglingRefs(db, request), bytes: 0 }
  }
}

const isGone = 'cid NOT IN (SELECT cid FROM conversations)'
const hasNoEvents = 'cid NOT IN (SELECT cid FROM events)'

function modelCalls(db: Database, { tenant, olderThanMs, limit, isDryRun }: CollectRequest): number {
  const found = db.all<{ id: number }>(
    `SELECT model_calls.id FROM model_calls JOIN conversations USING (cid)
     WHERE tenant = coalesce(?, tenant) AND at < ? LIMIT ?`,
    ...[tenant, Date.now() - olderThanMs, limit],
  )
  if (!isDryRun) for (const { id } of found) db.run('DELETE FROM model_calls WHERE id = ?', id)
  return found.length
}

function blobs(db: Database, { tenant, limit, isDryRun }: CollectRequest): Collected {
  const found = db.all<{ bid: number; bytes: number | null }>(
    `SELECT blobs.bid, length(bytes) AS bytes FROM blobs LEFT JOIN blob_bytes USING (bid)
     WHERE tenant = coalesce(?, tenant) AND pins <= 0 AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.bid = blobs.bid) LIMIT ?`,
    ...[tenant, limit],
  )
  for (const { bid } of isDryRun ? [] : found) {
    db.run('DELETE FROM blobs WHERE bid = ?', bid)
    db.run('DELETE FROM blob_bytes WHERE bid = ?', bid)
  }
  return { rows: found.length, bytes: found.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0) }
}

function pins(db: Database, { tenant, limit, isDryRun }: CollectRequest): number {
  const found = db.all<{ bid: number }>(
    'SELECT bid FROM blobs WHERE tenant = coalesce(?, tenant) AND pins > 0 LIMIT ?',
    ...[tenant, limit],
  )
  if (!isDryRun) for (const { bid } of found) db.run('UPDATE blobs SET pins = 0 WHERE bid = ?', bid)
  return found.length
}

/** Rows of a deleted conversation name no tenant, so they are removed only for all tenants. */
function remove(db: Database, tables: readonly string[], condition: string, request: CollectRequest): number {
  const { tenant, limit, isDryRun } = request
  if (tenant !== null) return 0
  let rows = 0
  for (const table of tables) {
    const owners = db.all<{ cid: number; count: number }>(
      `SELECT cid, count(*) AS count FROM ${table} WHERE ${condition} GROUP BY cid LIMIT ?`,
      limit,
    )
    for (const { cid, count } of owners) {
      if (rows >= limit) break
      rows += count
      if (!isDryRun) db.run(`DELETE FROM ${table} WHERE cid = ?`, cid)
    }
  }
  return rows
}

function danglingRefs(db: Database, { tenant, limit, isDryRun }: CollectRequest): number {
  if (tenant !== null) return 0
  const found = db.all<{ cid: number; bid: number }>(
    `SELECT cid, bid FROM blob_refs WHERE ${isGone} OR bid NOT IN (SELECT bid FROM blobs) LIMIT ?`,
    limit,
  )
  if (!isDryRun) {
    for (const { cid, bid } of found) db.run('DELETE FROM blob_refs WHERE cid = ? AND bid = ?', cid, bid)
  }
  return found.length
}

/** Rows are numbered in the order of their commits, so the newest are read by their numbers. */
function figures(db: Database, windowMs: number): StoredFigures {
  return db.snapshot(() => {
    const now = Date.now()
    const since = now - windowMs
    const newestOf = (table: string) => db.get<{ id: number | null }>(`SELECT max(id) AS id FROM ${table}`)?.id ?? 0
    const firstEvent = Math.max(0, newestOf('events') - 5 * mostFigures.events)
    const firstCall = Math.max(0, newestOf('model_calls') - mostFigures.modelCalls)
    const events = db.all<StoredFigures['events'][number]>(
      `SELECT cid AS log, type, at, json_extract(content, '$.callId') AS callId,
       CASE WHEN type IN ('turn_ended', 'resolution') THEN json_extract(content, '$.status') END AS status,
       CASE WHEN type = 'turn_ended' THEN substr(json_extract(content, '$.reason'), 1, 100) END AS reason
       FROM events NOT INDEXED WHERE id > ? AND at >= ? AND type IN ('turn_ended', 'tool_started', 'tool_result', 'resolution')
       ORDER BY id DESC LIMIT ?`,
      ...[firstEvent, since, mostFigures.events],
    )
    const modelCalls = db.all<StoredFigures['modelCalls'][number]>(
      'SELECT cid AS log, at, latency_ms AS latencyMs, status, model, usage FROM model_calls WHERE id > ? AND at >= ?',
      ...[firstCall, since],
    )
    const isOlder = (table: string, from: number) =>
      from === 0 ||
      (db.get<{ at: number }>(`SELECT at FROM ${table} WHERE id > ? ORDER BY id LIMIT 1`, from)?.at ?? 0) < since
    const inbox = db.get<{ waiting: number; oldestAt: number | null }>(
      `SELECT count(*) AS waiting, min(created_at) AS oldestAt FROM (SELECT created_at FROM calls
       WHERE status = 'pending' AND kind <> 'sub_agent' LIMIT ?)`,
      mostFigures.calls,
    )!
    const newestCall = db.get<{ id: number | null }>('SELECT max(rowid) AS id FROM calls')?.id ?? 0
    const answered = db.all<StoredFigures['answered'][number]>(
      `SELECT created_at AS createdAt, resolved_at AS resolvedAt FROM calls NOT INDEXED
       WHERE rowid > ? AND resolved_at >= ? AND kind <> 'sub_agent'`,
      ...[Math.max(0, newestCall - mostFigures.calls), since],
    )
    const nodes = db.all<StoredFigures['nodes'][number]>(
      `SELECT lease_holder AS holder, count(*) AS leases, min(lease_until) AS nextLapseAt FROM conversations
       WHERE lease_holder IS NOT NULL AND lease_holder <> ? GROUP BY lease_holder ORDER BY leases DESC LIMIT ?`,
      ...[quarantineHolder, mostFigures.nodes],
    )
    const expiry = db.get<StoredFigures['expiry']>(
      `SELECT count(*) AS overdue, min(expires_at) AS oldestDueAt FROM (SELECT expires_at FROM calls
       WHERE status = 'pending' AND expires_at <= ? ORDER BY expires_at LIMIT ?)`,
      ...[now, mostFigures.calls],
    )!
    const pages = db.get<{ page_count: number }>('PRAGMA page_count')!.page_count
    const pageBytes = db.get<{ page_size: number }>('PRAGMA page_size')!.page_size
    const isWhole = isOlder('events', firstEvent) && isOlder('model_calls', firstCall)
    const isPartial = !isWhole || events.length === mostFigures.events
    return { now, storeBytes: pages * pageBytes, events, modelCalls, inbox, answered, nodes, expiry, isPartial }
  })
}
