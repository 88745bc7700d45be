import type { ClaimedRow, PreparedClaim } from '../claim-due.ts'
import type { ReadConversation, StoredEvent } from '../driver.ts'
import type { ClockChange, ClockWatch } from '../lease.ts'
import {
  arrayLiteral,
  claimedColumns,
  conversationColumns,
  isNotPaused,
  isQuarantined,
  isSuspect,
  nowMs,
} from './columns.ts'
import type { Database, Statement } from './database.ts'
import { searchLimits } from './limit-values.ts'

/** One row without a conversation when nothing was claimed. */
type Row = { readonly now: number } & (
  | { readonly of_tenant: null }
  | (ReadConversation & {
      readonly of_tenant: string
      readonly place: number
      readonly type: ClaimedRow['type']
      readonly log: string | null
    } & Pick<ClaimedRow, 'epoch' | 'lapses'>)
)

type Clock = {
  readonly watch: ClockWatch
  readonly correct: (news: ClockChange, leaseMs: number | undefined) => Promise<void>
}

/** Claims many due conversations with one statement. Rows that another statement has locked are left out, so nodes do not wait for each other. */
export function claimDue(
  database: Database,
  { watch, correct }: Clock,
): (claim: PreparedClaim) => Promise<ClaimedRow[]> {
  const anyDue = claimStatement(database.schema, 'any')
  const onlyThese = claimStatement(database.schema, 'only')
  // A statement whose answer was lost is not repeated: it would take others. What it took are strays.
  let last: string | null = null
  const run = async (claim: PreparedClaim): Promise<Row[]> => {
    const { only, agents, limits, suspects, dueForMs } = claim
    if (only) return database.run<Row>(onlyThese, [...valuesOf(claim), ...refColumns(only)], 'reject')
    const limited = await searchLimits(database, agents, limits)
    const rows = await database.run<Row>(anyDue, [...valuesOf(claim), suspects, last, ...limited, dueForMs], 'reject')
    // The next search begins with the tenant after the last one that was served.
    last = lastServed(
      rows.flatMap((row) => row.of_tenant ?? []),
      last,
    )
    return rows
  }
  return async (claim) => {
    const rows = await run(claim)
    const { now } = rows[0]!
    const news = watch.observe(now)
    const claimed = rows.flatMap(claimedRow)
    const left = claim.limit - claimed.length
    if (news !== 'forward') {
      await correct(news, claim.ttlMs)
      const suspects = Math.max(0, claim.suspects - claimed.filter(({ lapses }) => lapses > 0).length)
      if (left > 0) claimed.push(...(await run({ ...claim, limit: left, suspects })).flatMap(claimedRow))
    }
    watch.repairedAt(now)
    return claimed
  }
}

/** How many rows a search finds for each one it takes, and how many suspects, because other nodes take the first ones at the same time. */
const spares = { others: 4, suspects: 16 }

/** How many of the last events a claim brings, and the bytes of the largest: the rest of a long log is what the process knows, or reads. */
const brought = { events: 8, bytes: 4_096 }

/** Seen as of the start of the statement, which may be before the last commit to a row that the claim has waited for. */
const endOfLog = (
  schema: string,
): string => `SELECT json_agg(json_build_array(e.seq, e.at, e.type, e.content) ORDER BY e.seq)::text AS log
        FROM ${schema}.events e WHERE e.tenant = claimed.of_tenant AND e.conversation_id = claimed.id AND e.seq > claimed."lastSeq" - ${brought.events}
          AND octet_length(e.content) <= ${brought.bytes}
          AND (e.seq > 1 OR NOT EXISTS (SELECT FROM ${schema}.summaries s WHERE s.tenant = e.tenant AND s.conversation_id = e.conversation_id))`

/**
 * `found` are the rows to take, in the order of their places. `fair_due` chooses; what changed since is looked at again once the row is locked, and instead of rows that
 * another statement has locked the next are taken. Under limits, claims wait for each other in `fair_due`, so what it counted stays so until the claim is made.
 */
function claimStatement(schema: string, form: 'any' | 'only'): Statement {
  const columns = 'c.tenant AS of_tenant, c.id AS of_id'
  const now = `(SELECT ${nowMs})`
  const isLeftAlone = `coalesce(($5::jsonb ->> (c.tenant || E'\\n' || c.id))::bigint >= c.last_seq, false)`
  const mayTake = `c.agent = ANY ($3::text[]) AND NOT ${isLeftAlone} AND ${isNotPaused(schema)}`
  const isFree = `(c.epoch IS NULL OR c.leased_until <= ${nowMs})`
  const lock = 'FOR UPDATE OF c SKIP LOCKED'
  // In order, and each by its primary key, until there are enough.
  const chosen = (which: string, most: string): string => `SELECT d.of_tenant, d.of_id, d.place
          FROM (SELECT * FROM candidates d WHERE ${which} ORDER BY d.place) d, LATERAL (
            SELECT FROM ${schema}.conversations c WHERE c.tenant = d.of_tenant AND c.id = d.of_id
              AND c.wake_at <= ${now} - $11::bigint AND ${isFree} AND (d.is_suspect OR c.epoch IS NULL OR ${isSuspect} IS NOT TRUE) AND ${mayTake} LIMIT 1 ${lock}
          ) c LIMIT ${most}`
  const any = `candidates AS MATERIALIZED (SELECT d.of_tenant, d.of_id, d.is_suspect, d.ordinality AS place
          FROM ${schema}.fair_due(
            $3::text[], $4, ${spares.others} * $4::bigint + ${spares.suspects} * $6::bigint, ${spares.suspects} * $6::bigint,
            $5::jsonb, $7, $8::jsonb, $9::bigint, $10::jsonb
          ) WITH ORDINALITY d
      ), suspect AS MATERIALIZED (${chosen('d.is_suspect', '$6')}
      ), other AS MATERIALIZED (${chosen('NOT d.is_suspect', '$4')}
      ), found AS MATERIALIZED (SELECT * FROM suspect UNION ALL SELECT * FROM other ORDER BY place LIMIT $4`
  const these = `found AS MATERIALIZED (SELECT ${columns}, c.wake_at AS place FROM unnest($6::text[], $7::text[]) o (tenant, id)
          JOIN ${schema}.conversations c ON c.tenant = o.tenant AND c.id = o.id
          WHERE c.wake_at <= ${now} AND (c.epoch IS NULL OR c.leased_until <= ${nowMs} AND ${isSuspect} IS NOT TRUE) AND ${mayTake}
          ORDER BY c.wake_at LIMIT $4 ${lock}`
  const account = form === 'any' ? "($8::jsonb -> c.agent ->> 'account')" : 'NULL'
  return {
    name: `claim_due_${form}`,
    text: `WITH ${form === 'any' ? any : these}
      ), claimed AS (
        UPDATE ${schema}.conversations c SET ${claimedColumns(schema, '$1', '$2', nowMs, account)}
        FROM found p WHERE c.tenant = p.of_tenant AND c.id = p.of_id
        RETURNING p.of_tenant, p.place, c.epoch, coalesce(cardinality(c.lapsed), 0) AS lapses,
          CASE WHEN ${isQuarantined} THEN 'quarantined' ELSE 'taken' END AS type, c.idle_seq AS "idleSeq", ${conversationColumns}
      )
      SELECT (SELECT ${nowMs}) AS now, claimed.*, ended.log FROM (VALUES (1)) one LEFT JOIN claimed ON true
        LEFT JOIN LATERAL (${endOfLog(schema)}) ended ON true ORDER BY claimed.place`,
  }
}

/** Ids have no control characters, so the keys of those to leave alone are unambiguous. */
function valuesOf({ holder, ttlMs, agents, limit, except }: PreparedClaim): unknown[] {
  const left = except.map(({ tenant, id, seq }) => [`${tenant}\n${id}`, seq ?? Number.MAX_SAFE_INTEGER])
  return [holder, ttlMs, agents, limit, JSON.stringify(Object.fromEntries(left))]
}

/** Of the tenants that were served, the last in the order of the search: those after `last`, then round from the first. */
function lastServed(tenants: readonly string[], last: string | null): string | null {
  const sorted = [...new Set(tenants)].sort()
  const before = last === null ? [] : sorted.filter((tenant) => tenant <= last)
  return before.at(-1) ?? sorted.at(-1) ?? last
}

function refColumns(refs: NonNullable<PreparedClaim['only']>): string[] {
  return [arrayLiteral(refs, ({ tenant }) => tenant), arrayLiteral(refs, ({ id }) => id)]
}

function claimedRow(row: Row): ClaimedRow[] {
  if (row.of_tenant === null) return []
  const { now: _, of_tenant: tenant, place: __, type, epoch, lapses, log, ...read } = row
  return [{ tenant, type, epoch, lapses, row: read, log: eventsIn(log) }]
}

function eventsIn(log: string | null): StoredEvent[] {
  const events = JSON.parse(log ?? '[]') as [number, number, string, string][]
  return events.map(([seq, at, type, content]) => ({ seq, at, type, content }))
}
