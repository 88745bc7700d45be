import { quarantineHolder } from '../../lease.ts'
import {
  type Collected,
  type CollectRequest,
  mostFigures,
  type Rebuilt,
  type StoredFigures,
  type Upkeep,
} from '../../upkeep.ts'
import { isQuarantined, nowMs, secondary } from '../columns.ts'
import type { Database, Query, Statement } from '../database.ts'
import { knownVersion } from '../migrate.ts'
import { isOrphan, postgresReader } from './reader.ts'
import { restoreBatch, restoreConversation } from './restore.ts'

/** The transaction may idle for long while it waits for input or for its reader. */
const patient = 'SET LOCAL idle_in_transaction_session_timeout = 0'
const oneMoment = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${patient}`

export function postgresUpkeep(database: Database): Upkeep {
  const { schema } = database
  const moment = {
    name: 'upkeep_moment',
    text: `SELECT ${nowMs} AS now, (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ${schema}.epochs) AS "lastEpoch"`,
  }
  const putBlob = {
    name: 'upkeep_put_blob',
    text: `INSERT INTO ${schema}.blobs AS b (tenant, hash, bytes, media_type, pins) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (tenant, hash) DO UPDATE SET pins = greatest(b.pins, excluded.pins)`,
  }
  const putSnapshot = {
    name: 'upkeep_put_snapshot',
    text: `INSERT INTO ${schema}.snapshots (tenant, id, snapshot) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1`,
  }
  const putTombstone = {
    name: 'upkeep_put_tombstone',
    text: `INSERT INTO ${schema}.tombstones AS t (tenant, id, at) VALUES ($1, $2, $3)
      ON CONFLICT (tenant, id) DO UPDATE SET at = greatest(t.at, excluded.at)`,
  }
  return {
    figures: (windowMs) => figures(database, windowMs),
    snapshot: (work) =>
      database.session(oneMoment, async (query) => {
        const [snapshotHead] = await query<{ now: number; lastEpoch: number }>(moment, [])
        return { commit: false, value: await work(postgresReader(query, schema, snapshotHead!)) }
      }),
    restoreConversation: (tenant, conversation, rows) =>
      database.session(`BEGIN; ${patient}`, async (query) => {
        const value = await restoreConversation(query, schema, tenant, conversation, rows)
        return { commit: value.type === 'ok', value }
      }),
    async restoreBlob(tenant, { hash, mediaType, pins, bytes }) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      await database.run(putBlob, [tenant, hash, buffer, mediaType, pins])
    },
    async restoreSnapshot(tenant, id, snapshot) {
      return (await database.run(putSnapshot, [tenant, id, snapshot], 'reject')).length > 0
    },
    async restoreTombstone(tenant, { id, at }) {
      await database.run(putTombstone, [tenant, id, at])
    },
    rebuild: (tenant, id, rebuilt) =>
      database.transaction(async (query) => {
        const value = await rebuild(query, schema, tenant, id, rebuilt)
        return { commit: value === 'ok', value }
      }, 'repeat'),
    collect: (request) =>
      database.transaction(async (query) => {
        const value = await collect(query, schema, request)
        return { commit: !request.isDryRun, value }
      }),
    async schema() {
      return { found: await database.version(), known: knownVersion }
    },
    async migrate() {
      const found = await database.version()
      // The first use migrates.
      await database.run({ name: 'upkeep_migrated', text: 'SELECT 1' }, [])
      return { found, known: knownVersion }
    },
  }
}

const columnNames = {
  kind: 'kind',
  lastSeq: 'last_seq',
  status: 'status',
  fsmState: 'fsm_state',
  idleSeq: 'idle_seq',
  title: 'title',
  childOf: 'child_of',
  owner: 'owner',
  wakeAt: 'wake_at',
} as const

/** Must run inside a transaction. Locks the conversation as a commit does. */
async function rebuild(
  query: Query,
  schema: string,
  tenant: string,
  id: string,
  { expected, columns, putCalls, removeCalls, bases, putBlobRefs, removeBlobRefs }: Rebuilt,
): Promise<'ok' | 'moved' | 'held'> {
  const run = (name: string, text: string, values: readonly unknown[]): Promise<unknown[]> =>
    query({ name: `upkeep_${name}`, text } satisfies Statement, [tenant, id, ...values])
  const [row] = (await run(
    'rebuild_lock',
    `SELECT last_seq, updated_at, coalesce(leased_until, 0) > ${nowMs} AND NOT ${isQuarantined} AS held
     FROM ${schema}.conversations c WHERE tenant = $1 AND id = $2 FOR UPDATE`,
    [],
  )) as { last_seq: number; updated_at: number; held: boolean }[]
  if (row?.last_seq !== expected.lastSeq || row.updated_at !== expected.updatedAt) return 'moved'
  if (row.held) return 'held'
  for (const [name, column] of Object.entries(columnNames)) {
    const value = columns[name as keyof typeof columnNames]
    if (value === undefined) continue
    await run(`set_${column}`, `UPDATE ${schema}.conversations SET ${column} = $3 WHERE tenant = $1 AND id = $2`, [
      value,
    ])
  }
  await run(
    'remove_calls',
    `DELETE FROM ${schema}.calls WHERE tenant = $1 AND conversation_id = $2 AND id = ANY ($3::text[])`,
    [[...removeCalls, ...putCalls.map((call) => call.id)]],
  )
  await run(
    'remove_refs',
    `DELETE FROM ${schema}.blob_refs WHERE tenant = $1 AND conversation_id = $2 AND hash = ANY ($3::text[])`,
    [[...removeBlobRefs, ...putBlobRefs.map((ref) => ref.hash)]],
  )
  if (putCalls.length > 0 && (await restoreBatch(query, schema, { tenant, id }, { type: 'call', rows: putCalls }))) {
    return 'moved'
  }
  const refs = { type: 'blob_ref' as const, rows: putBlobRefs }
  if (putBlobRefs.length > 0 && (await restoreBatch(query, schema, { tenant, id }, refs))) return 'moved'
  for (const { toSeq, base } of bases) {
    await run(
      'set_base',
      `UPDATE ${schema}.summaries SET base = $4 WHERE tenant = $1 AND conversation_id = $2 AND to_seq = $3`,
      [toSeq, base],
    )
  }
  return 'ok'
}

/** Must run inside a transaction. */
async function collect(query: Query, schema: string, request: CollectRequest): Promise<Collected> {
  const { tenant, olderThanMs, limit, isDryRun } = request
  const all = { rows: 0, bytes: 0 }
  for (const garbage of garbageOf(schema, request.what)) {
    const { name, from, sizes, condition, act } = garbage
    const chosen = `SELECT t.ctid AS place, ${sizes} AS bytes FROM ${from} t
      WHERE t.tenant = coalesce($1, t.tenant) AND $3::bigint >= 0 AND ${condition} LIMIT $2`
    const counted = `SELECT count(*) AS rows, coalesce(sum(x.bytes), 0)::bigint AS bytes FROM`
    // Locked first, so that a commit that adds a reference to a blob comes before or after, not between.
    const acted = `WITH chosen AS (${chosen} FOR UPDATE OF t), x AS (${act} RETURNING chosen.bytes) ${counted} x`
    const statement = isDryRun
      ? { name: `upkeep_count_${name}`, text: `${counted} (${chosen}) x`, timeoutMs: 0 }
      : { name: `upkeep_collect_${name}`, text: acted, timeoutMs: 0 }
    const [found] = await query<Collected>(statement, [tenant, limit, olderThanMs])
    all.rows += found!.rows
    all.bytes += found!.bytes
  }
  return all
}

type Garbage = {
  readonly name: string
  readonly from: string
  /** The size of a row, where it is reported. */
  readonly sizes: string
  /** On a row under the alias t. */
  readonly condition: string
  /** The statement for the rows that `chosen` names by their place. */
  readonly act: string
}

function garbageOf(schema: string, what: CollectRequest['what']): Garbage[] {
  const removed = (table: string, condition: string, name = table, sizes = '0'): Garbage => {
    const from = `${schema}.${table}`
    return { name, from, sizes, condition, act: `DELETE FROM ${from} d USING chosen WHERE d.ctid = chosen.place` }
  }
  const hasNoEvents = `NOT EXISTS (
    SELECT 1 FROM ${schema}.events e WHERE e.tenant = t.tenant AND e.conversation_id = t.conversation_id)`
  const orphans = (table: string, type: Parameters<typeof isOrphan>[1], also = ''): Garbage =>
    removed(table, `${isOrphan(schema, type)}${also}`, `orphans_${table}`)
  switch (what) {
    case 'model_calls':
      return [removed('model_calls', `t.at < ${nowMs} - $3::bigint`)]
    case 'blobs': {
      const isUnreferenced = `t.pins <= 0 AND NOT EXISTS (
        SELECT 1 FROM ${schema}.blob_refs r WHERE r.tenant ${secondary} = t.tenant AND r.hash = t.hash)`
      return [removed('blobs', isUnreferenced, 'blobs', 'length(t.bytes)')]
    }
    case 'pins': {
      const from = `${schema}.blobs`
      const act = `UPDATE ${from} d SET pins = 0 FROM chosen WHERE d.ctid = chosen.place`
      return [{ name: 'pins', from, sizes: '0', condition: 't.pins > 0', act }]
    }
    case 'orphans':
      return [
        orphans('commit_keys', 'key', ` AND ${hasNoEvents}`),
        orphans('summaries', 'summary', ` AND ${hasNoEvents}`),
        orphans('model_calls', 'model_call', ` AND ${hasNoEvents}`),
      ]
    case 'derived_orphans':
      return [orphans('calls', 'call'), orphans('blob_refs', 'blob_ref')]
  }
}

const eventsOfLog = 200
const callsOfLog = 50

/** Reads the newest events of the logs that were written to last, by primary key: neither events nor model calls have an index on their time. */
async function figures(database: Database, windowMs: number): Promise<StoredFigures> {
  const { schema } = database
  const ask = <Row extends object>(name: string, text: string, values: readonly unknown[] = []) =>
    database.run<Row>({ name: `figures_${name}`, text }, [...values])
  const [clock] = await ask<{ now: number; bytes: number | null }>(
    'clock',
    `SELECT ${nowMs} AS now, (SELECT sum(pg_total_relation_size(r.oid))::bigint FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
      WHERE n.nspname = replace($1, '"', '') AND r.relkind = 'r') AS bytes`,
    [schema],
  )
  const { now, bytes } = clock!
  const since = now - windowMs
  const logs = `(SELECT tenant, id FROM ${schema}.conversations WHERE updated_at >= $1 ORDER BY updated_at DESC LIMIT ${mostFigures.logs}) AS l`
  const events = await ask<StoredFigures['events'][number]>(
    'events',
    `SELECT l.tenant || '/' || l.id AS log, e.type, e.at, e.content::json ->> 'callId' AS "callId",
      CASE WHEN e.type IN ('turn_ended', 'resolution') THEN e.content::json ->> 'status' END AS status,
      CASE WHEN e.type = 'turn_ended' THEN left(e.content::json ->> 'reason', 100) END AS reason
      FROM ${logs}, LATERAL (SELECT type, at, content FROM ${schema}.events WHERE tenant = l.tenant AND conversation_id = l.id
        ORDER BY seq DESC LIMIT ${eventsOfLog}) AS e
      WHERE e.at >= $1 AND e.type IN ('turn_ended', 'tool_started', 'tool_result', 'resolution') LIMIT ${mostFigures.events}`,
    [since],
  )
  const modelCalls = await ask<StoredFigures['modelCalls'][number]>(
    'model_calls',
    `SELECT l.tenant || '/' || l.id AS log, m.at, m.latency_ms AS "latencyMs", m.status, m.model, m.usage FROM ${logs}, LATERAL (
        SELECT at, latency_ms, status, model, usage FROM ${schema}.model_calls WHERE tenant = l.tenant AND conversation_id = l.id
        ORDER BY turn_ref DESC, number DESC LIMIT ${callsOfLog}) AS m WHERE m.at >= $1 LIMIT ${mostFigures.modelCalls}`,
    [since],
  )
  const [counted] = await ask<{ count: number }>('logs', `SELECT count(*) AS count FROM ${logs}`, [since])
  const [inbox] = await ask<StoredFigures['inbox']>(
    'inbox',
    `SELECT count(*) AS waiting, min(created_at) AS "oldestAt" FROM (SELECT created_at FROM ${schema}.calls
      WHERE status = 'pending' AND kind <> 'sub_agent' LIMIT ${mostFigures.calls}) AS t`,
  )
  const answered = await ask<StoredFigures['answered'][number]>(
    'answered',
    `SELECT c.created_at AS "createdAt", c.resolved_at AS "resolvedAt" FROM ${logs}, LATERAL (
        SELECT created_at, resolved_at FROM ${schema}.calls WHERE tenant = l.tenant AND conversation_id = l.id
        AND status <> 'pending' AND resolved_at >= $1 AND kind <> 'sub_agent' LIMIT ${callsOfLog}) AS c LIMIT ${mostFigures.calls}`,
    [since],
  )
  const nodes = await ask<StoredFigures['nodes'][number]>(
    'nodes',
    `SELECT holder, count(*) AS leases, min(leased_until) AS "nextLapseAt" FROM ${schema}.conversations
      WHERE holder IS NOT NULL AND holder <> $1 GROUP BY holder ORDER BY leases DESC LIMIT ${mostFigures.nodes}`,
    [quarantineHolder],
  )
  const [expiry] = await ask<StoredFigures['expiry']>(
    'expiry',
    `SELECT count(*) AS overdue, min(expires_at) AS "oldestDueAt" FROM (SELECT expires_at FROM ${schema}.calls
      WHERE status = 'pending' AND expires_at <= $1 ORDER BY expires_at LIMIT ${mostFigures.calls}) AS t`,
    [now],
  )
  const isPartial = counted!.count === mostFigures.logs || events.length === mostFigures.events
  return { now, storeBytes: bytes, events, modelCalls, inbox: inbox!, answered, nodes, expiry: expiry!, isPartial }
}
