import type { Driver, StoredEvent, StoredSummary } from '../driver.ts'
import { eventColumns } from './columns.ts'
import type { Database } from './database.ts'
import { Page } from './page.ts'

type RevivalRow = StoredEvent & {
  readonly from_seq: number | null
  readonly version: number
  readonly base: string | null
}

/** Reads of the log. */
export function events(database: Database): Pick<Driver, 'readEvents' | 'loadSince'> {
  const { schema } = database
  const ofConversation = `SELECT ${eventColumns} FROM ${schema}.events WHERE tenant = $1 AND conversation_id = $2`
  // One statement sees one state of the database.
  const revival = (events: string): string => `WITH latest AS MATERIALIZED (
        SELECT * FROM ${schema}.summaries WHERE tenant = $1 AND conversation_id = $2 ORDER BY to_seq DESC LIMIT 1
      )
      (SELECT to_seq AS seq, 0::bigint AS at, '' AS type, content, from_seq, version, base FROM latest)
      UNION ALL
      (SELECT seq, at, type, content, NULL, NULL, NULL FROM (${events}) AS events ORDER BY seq)`

  return {
    async readEvents(tenant, id, range) {
      const { after = 0, before = Number.MAX_SAFE_INTEGER, type, keep = 'newest', ...bounds } = range
      const isReversed = keep === 'newest' && (bounds.limit !== undefined || bounds.maxBytes !== undefined)
      const page = new Page(bounds, [tenant, id, after, before, ...(type === undefined ? [] : [type])])
      const conditions = `AND seq > $3 AND seq < $4 ${type === undefined ? '' : 'AND type = $5'}`
      const text = page.within(`${ofConversation} ${conditions}`, {
        columns: eventColumns,
        order: `seq ${isReversed ? 'DESC' : 'ASC'}`,
        bytes: ['content'],
      })
      const name = page.named(`events${isReversed ? '_newest' : ''}${type === undefined ? '' : '_typed'}`)
      const events = await database.run<StoredEvent>({ name, text }, page.values)
      return isReversed ? events.reverse() : events
    },
    async loadSince(tenant, id, bounds = {}) {
      const page = new Page(bounds, [tenant, id])
      const after = `${ofConversation} AND seq > coalesce((SELECT to_seq FROM latest), 0)`
      const events = page.within(after, { columns: eventColumns, order: 'seq ASC', bytes: ['content'] })
      const statement = { name: page.named('revival'), text: revival(events) }
      const rows = await database.run<RevivalRow>(statement, page.values)
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
