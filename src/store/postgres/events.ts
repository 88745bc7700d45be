import type { Driver, DueCall, StoredCall, StoredEvent, StoredInboxCall, StoredSummary } from '../driver.ts'
import { callColumns, callNames, eventColumns, isQuarantined, nowMs, Page, secondary } from './columns.ts'
import type { Database } from './database.ts'

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

type Methods = 'getCall' | 'pendingCalls' | 'inbox' | 'dueCalls'

/** The columns of a call without what a model or an application may make large. */
const briefColumns = callColumns
  .replace('t.args', "'null' AS args")
  .replace('t.prompt', "'null' AS prompt")
  .replace('t.notice, t.meta', 'NULL AS notice, NULL AS meta')

/** Call rows and their deadlines. */
export function calls(database: Database): Pick<Driver, Methods> {
  const { schema } = database
  const get = { name: 'call', text: `SELECT ${callColumns} FROM ${schema}.calls t WHERE t.tenant = $1 AND t.id = $2` }
  const pending = (name: string, columns: string) => ({
    name,
    text: `SELECT ${columns} FROM ${schema}.calls t
      WHERE t.tenant ${secondary} = $1 AND t.conversation_id = $2 AND t.status = 'pending' ORDER BY t.created_at, t.id`,
  })
  const whole = pending('calls_pending', callColumns)
  const brief = pending('calls_pending_brief', briefColumns)
  const inInbox = `SELECT ${callColumns}, c.agent, c.title, c.owner, CASE WHEN ${isQuarantined} THEN c.claimed_at END AS "quarantinedAt"
    FROM ${schema}.calls t JOIN ${schema}.conversations c ON c.tenant = t.tenant AND c.id = t.conversation_id
    WHERE t.tenant ${secondary} = $1 AND t.status = 'pending'`
  const beforeLast = `AND (t.created_at, t.id ${secondary}) < ($2::bigint, $3::text)`
  const due = {
    name: 'calls_due',
    text: `SELECT t.tenant, t.conversation_id AS id, t.id AS "callId", t.round, t.kind, t.expires_at - n.now AS "inMs"
      FROM (SELECT ${nowMs} AS now) n, ${schema}.calls t
      WHERE t.status = 'pending' AND t.expires_at IS NOT NULL ORDER BY t.expires_at LIMIT $1`,
  }

  const owned = {
    name: 'call_owned',
    text: `SELECT 1 FROM ${schema}.conversations WHERE tenant = $1 AND id = $2 AND owner = $3`,
  }

  async function isOwned(tenant: string, { conversationId }: StoredCall, owner: string): Promise<boolean> {
    return (await database.run(owned, [tenant, conversationId, owner])).length > 0
  }

  async function getCall(tenant: string, callId: string): Promise<StoredCall | null> {
    return (await database.run<StoredCall>(get, [tenant, callId]))[0] ?? null
  }

  return {
    getCall,
    pendingCalls: (tenant, id, isBrief = false) => database.run<StoredCall>(isBrief ? brief : whole, [tenant, id]),
    async inbox(tenant, { owner, before, ...bounds }) {
      const last = before === undefined ? undefined : await getCall(tenant, before)
      if (last === null || (last && owner !== undefined && !(await isOwned(tenant, last, owner)))) return null
      const values = [tenant, ...(last ? [last.createdAt, last.id] : []), ...(owner === undefined ? [] : [owner])]
      const page = new Page(bounds, values)
      const ofOwner = owner === undefined ? '' : `AND c.owner = $${values.length}`
      const text = page.within(`${inInbox} ${last ? beforeLast : ''} ${ofOwner}`, {
        columns: `${callNames}, agent, title, "quarantinedAt"`,
        order: `t.created_at DESC, t.id ${secondary} DESC`,
        returnedOrder: `"createdAt" DESC, id ${secondary} DESC`,
        bytes: ['name', 'args', 'prompt', 'notice', 'meta', 'title'],
      })
      const name = page.named(`inbox${last ? '_before' : ''}${owner === undefined ? '' : '_owner'}`)
      return database.run<StoredInboxCall>({ name, text }, page.values)
    },
    async dueCalls(limit) {
      // One more row than requested shows how long until the next deadline.
      const rows = await database.run<DueCall & { readonly inMs: number }>(due, [limit + 1])
      const next = rows.find((row) => row.inMs > 0)
      return {
        due: rows
          .filter((row) => row.inMs <= 0)
          .slice(0, limit)
          .map(({ inMs: _, ...call }) => call),
        nextInMs: next?.inMs ?? null,
      }
    },
  }
}
