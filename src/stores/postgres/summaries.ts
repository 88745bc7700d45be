import type { Driver, StoredSummary } from '../../store/driver.ts'
import { summaryColumns } from './columns.ts'
import type { Database } from './database.ts'

export function summaries(database: Database): Pick<Driver, 'putSummary' | 'latestSummary'> {
  const { schema } = database
  const put = {
    name: 'put_summary',
    text: `INSERT INTO ${schema}.summaries (tenant, conversation_id, from_seq, to_seq, content, version, base)
      SELECT tenant, id, $3::bigint, $4::bigint, $5::text, $6::bigint, $7::text FROM ${schema}.conversations
      WHERE tenant = $1 AND id = $2 FOR UPDATE
      ON CONFLICT (tenant, conversation_id, to_seq) DO UPDATE SET
        from_seq = excluded.from_seq, content = excluded.content, version = excluded.version, base = excluded.base
      RETURNING 1`,
  }
  const latest = {
    name: 'latest_summary',
    text: `SELECT ${summaryColumns} FROM ${schema}.summaries
      WHERE tenant = $1 AND conversation_id = $2 ORDER BY to_seq DESC LIMIT 1`,
  }
  return {
    async putSummary(tenant, id, { fromSeq, toSeq, content, version, base }) {
      return (await database.run(put, [tenant, id, fromSeq, toSeq, content, version, base])).length > 0
    },
    async latestSummary(tenant, id) {
      return (await database.run<StoredSummary>(latest, [tenant, id]))[0] ?? null
    },
  }
}
