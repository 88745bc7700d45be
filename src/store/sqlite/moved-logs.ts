import type { WatchedLog } from '../watched-log.ts'
import { isQuarantined, lastSeq } from './columns.ts'
import type { Database } from './database.ts'

export function movedLogs(db: Database, watched: readonly WatchedLog[]): number[] {
  const known = watched.map(({ tenant, id, seq, at, status }) => [tenant, id, seq, at, status])
  return db
    .all<{ place: number }>(
      `WITH known AS MATERIALIZED (
         SELECT key AS place, value ->> 0 AS tenant, value ->> 1 AS id, value ->> 2 AS seq, value ->> 3 AS at, value ->> 4 AS status
         FROM json_each(?)
       )
       SELECT place FROM known k LEFT JOIN conversations ON conversations.tenant = k.tenant AND conversations.id = k.id
       WHERE ${lastSeq} <> k.seq
         OR (k.seq > 0 AND k.at IS NOT NULL AND (SELECT at FROM events WHERE cid = conversations.cid AND seq = k.seq) <> k.at)
         OR (k.status IS NOT NULL AND (conversations.status IS NOT k.status OR ${isQuarantined}))
       ORDER BY place`,
      JSON.stringify(known),
    )
    .map(({ place }) => place)
}
