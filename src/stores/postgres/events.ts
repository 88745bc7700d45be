import type { Driver, StoredEvent, StoredSummary } from '../../store/driver.ts'
import { eventColumns } from './columns.ts'
import type { Database } from './database.ts'

type RevivalRow = StoredEvent & {
  readonly from_seq: number | null
  readonly version: number
  readonly base: string | null
}

/** Reads of the log. */
export function events(database: Database): Pick<Driver, 'readEvents' | 'loadSince'> {
  const { schema } = database
  const inRange = `SELECT ${eventColumns} FROM ${schema}.events
    WHERE tenant = $1 AND conversation_id = $2 AND seq > $3 AND seq < $4`
  const all = { name: 'events', text: `${inRange} ORDER BY seq` }
  const newest = { name: 'events_newest', text: `${inRange} ORDER BY seq DESC LIMIT $5` }
  const typed = { name: 'events_typed', text: `${inRange} AND type = $5 ORDER BY seq` }
  const typedNewest = { name: 'events_typed_newest', text: `${inRange} AND type = $5 ORDER BY seq DESC LIMIT $6` }
  // One statement sees one state of the database.
  const revival = {
    name: 'revival',
    text: `WITH latest AS MATERIALIZED (
        SELECT * FROM ${schema}.summaries WHERE tenant = $1 AND conversation_id = $2 ORDER BY to_seq DESC LIMIT 1
      )
      (SELECT to_seq AS seq, 0::bigint AS at, '' AS type, content, from_seq, version, base FROM latest)
      UNION ALL
      (SELECT seq, at, type, content, NULL, NULL, NULL FROM ${schema}.events
        WHERE tenant = $1 AND conversation_id = $2 AND seq > coalesce((SELECT to_seq FROM latest), 0) ORDER BY seq)`,
  }

  return {
    async readEvents(tenant, id, { after = 0, before = Number.MAX_SAFE_INTEGER, limit, type }) {
      const place = [tenant, id, after, before]
      const ofType = type === undefined ? [] : [type]
      if (limit === undefined) return database.run<StoredEvent>(type === undefined ? all : typed, [...place, ...ofType])
      const statement = type === undefined ? newest : typedNewest
      return (await database.run<StoredEvent>(statement, [...place, ...ofType, limit])).reverse()
    },
    async loadSince(tenant, id) {
      const rows = await database.run<RevivalRow>(revival, [tenant, id])
      const first = rows[0]
      const hasSummary = first !== undefined && first.from_seq !== null
      return {
        summary: hasSummary ? summaryOf(first) : null,
        events: (hasSummary ? rows.slice(1) : rows).map(({ seq, at, type, content }) => ({ seq, at, type, content })),
      }
    },
  }
}

function summaryOf({ seq, from_seq, content, version, base }: RevivalRow): StoredSummary {
  return { fromSeq: from_seq!, toSeq: seq, content, version, base }
}
