import type { Driver, StoredSummary } from '../driver.ts'
import { summaryColumns } from './columns.ts'
import type { Database } from './database.ts'

export function summaries(database: Database): Pick<Driver, 'putSummary' | 'latestSummary'> {
  const { schema } = database
  // The row is locked, so the log ends there for as long as it is looked at.
  const put = {
    name: 'put_summary',
    text: `WITH log AS (
        SELECT tenant, id, last_seq FROM ${schema}.conversations WHERE tenant = $1 AND id = $2 FOR UPDATE
      ), put AS (
        INSERT INTO ${schema}.summaries (tenant, conversation_id, from_seq, to_seq, content, version, base)
        SELECT tenant, id, $3::bigint, $4::bigint, $5::text, $6::bigint, $7::text FROM log WHERE last_seq >= $4::bigint
        ON CONFLICT (tenant, conversation_id, to_seq) DO UPDATE SET
          from_seq = excluded.from_seq, content = excluded.content, version = excluded.version, base = excluded.base
      )
      SELECT last_seq AS "lastSeq" FROM log`,
  }
  const latest = {
    name: 'latest_summary',
    text: `SELECT ${summaryColumns} FROM ${schema}.summaries
      WHERE tenant = $1 AND conversation_id = $2 ORDER BY to_seq DESC LIMIT 1`,
  }
  return {
    async putSummary(tenant, id, { fromSeq, toSeq, content, version, base }) {
      const values = [tenant, id, fromSeq, toSeq, content, version, base]
      const [log] = await database.run<{ lastSeq: number }>(put, values)
      if (!log) return 'missing'
      return toSeq > log.lastSeq ? { pastEnd: log.lastSeq } : 'ok'
    },
    async latestSummary(tenant, id) {
      return (await database.run<StoredSummary>(latest, [tenant, id]))[0] ?? null
    },
  }
}
