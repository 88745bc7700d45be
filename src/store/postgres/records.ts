import type { Driver, StoredModelCall, StoredSummary, SummaryOutcome } from '../driver.ts'
import { nowMs, Page, summaryColumns } from './columns.ts'
import type { Database } from './database.ts'

/** The largest value that Postgres can hold. */
const mostBytes = 1024 * 1024 * 1024

export function blobs(database: Database): Pick<Driver, 'putBlob' | 'getBlob'> {
  const { schema } = database
  const put = {
    name: 'put_blob',
    text: `INSERT INTO ${schema}.blobs AS b (tenant, hash, bytes, media_type, pins) VALUES ($1, $2, $3, $4, 1)
      ON CONFLICT (tenant, hash) DO UPDATE SET pins = b.pins + 1`,
  }
  const found = `media_type AS "mediaType" FROM ${schema}.blobs WHERE tenant = $1 AND hash = $2`
  const get = { name: 'blob', text: `SELECT bytes, ${found}` }
  const getSlice = {
    name: 'blob_slice',
    text: `SELECT substring(bytes FROM least($3::bigint + 1, 2147483647)::int FOR $4::int) AS bytes, ${found}`,
  }
  return {
    async putBlob(tenant, hash, bytes, mediaType) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      await database.run(put, [tenant, hash, buffer, mediaType])
    },
    async getBlob(tenant, hash, slice) {
      const statement = slice ? getSlice : get
      const part = slice ? [slice.from, Math.min(slice.length, mostBytes)] : []
      const [row] = await database.run<{ bytes: Buffer; mediaType: string }>(statement, [tenant, hash, ...part])
      return row ? { bytes: new Uint8Array(row.bytes), mediaType: row.mediaType } : null
    },
  }
}

export function summaries(database: Database): Pick<Driver, 'putSummary' | 'latestSummary'> {
  const { schema } = database
  // While the row is locked, the log cannot grow, and no other summary is put.
  const lock = {
    name: 'put_summary_lock',
    text: `SELECT last_seq AS "lastSeq" FROM ${schema}.conversations WHERE tenant = $1 AND id = $2 FOR UPDATE`,
  }
  const overlapping = {
    name: 'put_summary_overlaps',
    text: `SELECT from_seq AS "fromSeq", to_seq AS "toSeq" FROM ${schema}.summaries
      WHERE tenant = $1 AND conversation_id = $2 AND to_seq <> $4 AND to_seq >= $3 AND from_seq <= $4
        AND NOT (from_seq >= $3 AND to_seq < $4) ORDER BY to_seq LIMIT 1`,
  }
  const supersededAfter = {
    name: 'put_summary_superseded',
    text: `SELECT seq FROM ${schema}.events
      WHERE tenant = $1 AND conversation_id = $2 AND seq > $3 AND type = 'superseded' ORDER BY seq DESC LIMIT 1`,
  }
  const put = {
    name: 'put_summary',
    text: `INSERT INTO ${schema}.summaries (tenant, conversation_id, from_seq, to_seq, content, version, base)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (tenant, conversation_id, to_seq) DO UPDATE SET
        from_seq = excluded.from_seq, content = excluded.content, version = excluded.version, base = excluded.base`,
  }
  const latest = {
    name: 'latest_summary',
    text: `SELECT ${summaryColumns} FROM ${schema}.summaries
      WHERE tenant = $1 AND conversation_id = $2 ORDER BY to_seq DESC LIMIT 1`,
  }
  return {
    putSummary(tenant, id, { fromSeq, toSeq, content, version, base }, plannedOn) {
      return database.transaction<SummaryOutcome>(async (query) => {
        const [log] = await query<{ lastSeq: number }>(lock, [tenant, id])
        if (!log) return { commit: false, value: 'missing' }
        if (toSeq > log.lastSeq) return { commit: false, value: { pastEnd: log.lastSeq } }
        const [superseded] = await query<{ seq: number }>(supersededAfter, [tenant, id, plannedOn])
        if (superseded) return { commit: false, value: { supersededAt: superseded.seq } }
        const [overlaps] = await query<Pick<StoredSummary, 'fromSeq' | 'toSeq'>>(overlapping, [
          tenant,
          id,
          fromSeq,
          toSeq,
        ])
        if (overlaps) return { commit: false, value: { overlaps } }
        await query(put, [tenant, id, fromSeq, toSeq, content, version, base])
        return { commit: true, value: 'ok' }
      }, 'repeat')
    },
    async latestSummary(tenant, id) {
      return (await database.run<StoredSummary>(latest, [tenant, id]))[0] ?? null
    },
  }
}

export function snapshots(database: Database): Pick<Driver, 'putSnapshot' | 'getSnapshot'> {
  const { schema } = database
  const put = {
    name: 'put_snapshot',
    text: `INSERT INTO ${schema}.snapshots (tenant, id, snapshot) VALUES ($1, $2, $3)
      ON CONFLICT (tenant, id) DO UPDATE SET snapshot = excluded.snapshot`,
  }
  const get = { name: 'snapshot', text: `SELECT snapshot FROM ${schema}.snapshots WHERE tenant = $1 AND id = $2` }
  return {
    async putSnapshot(tenant, id, snapshot) {
      await database.run(put, [tenant, id, snapshot])
    },
    async getSnapshot(tenant, id) {
      const [row] = await database.run<{ snapshot: string }>(get, [tenant, id])
      return row?.snapshot ?? null
    },
  }
}

/** Audit rows of model calls. */
export function modelCalls(database: Database): Pick<Driver, 'putModelCall' | 'modelCalls' | 'gcModelCalls'> {
  const { schema } = database
  const put = {
    name: 'put_model_call',
    text: `INSERT INTO ${schema}.model_calls (tenant, conversation_id, turn_ref, rendered_context, model, usage, latency_ms,
        status, summary_version, evictions, at, meta)
      SELECT tenant, id, $3, $4, $5, $6, $7::bigint, $8, $9::bigint, $10, coalesce($11::bigint, ${nowMs}), $12
      FROM ${schema}.conversations WHERE tenant = $1 AND id = $2 FOR UPDATE
      RETURNING 1`,
  }
  const listed = (
    context: string,
  ): string => `SELECT turn_ref AS "turnRef", ${context} AS "renderedContext", model, usage,
      latency_ms AS "latencyMs", status, summary_version AS "summaryVersion", evictions, at, meta, number
    FROM ${schema}.model_calls WHERE tenant = $1 AND conversation_id = $2`
  const collect = {
    name: 'gc_model_calls',
    text: `DELETE FROM ${schema}.model_calls
      WHERE tenant = $1 AND conversation_id = $2 AND at < ${nowMs} - $3::bigint RETURNING 1`,
  }
  return {
    async putModelCall(tenant, id, call) {
      const { turnRef, renderedContext, model, usage, latencyMs, status, summaryVersion, evictions, at, meta } = call
      const columns = [turnRef, renderedContext, model, usage, latencyMs, status, summaryVersion, evictions, at, meta]
      return (await database.run(put, [tenant, id, ...columns], 'reject')).length > 0
    },
    async modelCalls(tenant, id, { turnRef, from, skip = 0, contexts = true, ...bounds }) {
      const page = new Page(bounds, [tenant, id, skip, ...[turnRef, from].filter((ref) => ref !== undefined)])
      const conditions = [
        ...(turnRef === undefined ? [] : ['AND turn_ref = $4']),
        ...(from === undefined ? [] : [`AND turn_ref >= $${turnRef === undefined ? 4 : 5}`]),
      ]
      const select = `${listed(contexts ? 'rendered_context' : 'NULL::text')} ${conditions.join(' ')}`
      const text = page.within(`SELECT * FROM (${select} ORDER BY turn_ref, number OFFSET $3) AS calls`, {
        columns:
          '"turnRef", "renderedContext", model, usage, "latencyMs", status, "summaryVersion", evictions, at, meta',
        order: '"turnRef", number',
        bytes: ['status', 'model', 'usage', 'evictions', 'meta', '"renderedContext"'],
      })
      const forms = [
        contexts ? '' : '_without_contexts',
        turnRef === undefined ? '' : '_of',
        from === undefined ? '' : '_from',
      ]
      const rows = await database.run<StoredModelCall & { at: number; number?: number }>(
        { name: page.named(`model_calls${forms.join('')}`), text },
        page.values,
      )
      return rows.map(({ number: _, ...call }) => call)
    },
    async gcModelCalls(tenant, id, ttlMs) {
      return (await database.run(collect, [tenant, id, ttlMs], 'reject')).length
    },
  }
}
