import type { Driver } from '../driver.ts'
import { arrayLiteral } from './array-literal.ts'
import { isQuarantined } from './claims.ts'
import type { Database } from './database.ts'

/** Each row is looked up by itself, by its primary key: a join may read all of the tenant for each. */
export function movedLogs(database: Database): Driver['movedLogs'] {
  const { schema } = database
  const statement = {
    name: 'moved_logs',
    text: `SELECT k.place - 1 AS place
      FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])
        WITH ORDINALITY k (tenant, id, seq, at, status, place)
      LEFT JOIN LATERAL (
        SELECT last_seq, status, holder, leased_until FROM ${schema}.conversations WHERE tenant = k.tenant AND id = k.id LIMIT 1
      ) c ON true
      LEFT JOIN LATERAL (
        SELECT at FROM ${schema}.events WHERE tenant = k.tenant AND conversation_id = k.id AND seq = k.seq LIMIT 1
      ) e ON true
      WHERE coalesce(c.last_seq, 0) <> k.seq
        OR (k.seq > 0 AND k.at IS NOT NULL AND e.at IS DISTINCT FROM k.at)
        OR (k.status IS NOT NULL AND (c.status IS DISTINCT FROM k.status OR ${isQuarantined}))
      ORDER BY k.place`,
  }
  return async (watched) => {
    const columns = (['tenant', 'id', 'seq', 'at', 'status'] as const).map((name) =>
      arrayLiteral(watched, (one) => one[name]),
    )
    const rows = await database.run<{ place: number }>(statement, columns)
    return rows.map(({ place }) => place)
  }
}
