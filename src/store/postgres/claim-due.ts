import type { ClaimedRow, PreparedClaim } from '../claim-due.ts'
import type { ReadConversation } from '../driver.ts'
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

/** One row without a conversation when nothing was claimed. */
type Row = { readonly now: number } & (
  | { readonly of_tenant: null }
  | (ReadConversation & { readonly of_tenant: string; readonly type: ClaimedRow['type'] } & Pick<
        ClaimedRow,
        'epoch' | 'lapses'
      >)
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
  const run = (claim: PreparedClaim): Promise<Row[]> => {
    const { only } = claim
    return only
      ? database.run<Row>(onlyThese, [...valuesOf(claim), ...refColumns(only)], 'reject')
      : database.run<Row>(anyDue, [...valuesOf(claim), claim.suspects], 'reject')
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

/**
 * `picked` are the rows to take, locked: to restrict what is taken, add a condition to `mayTake`. Conversations with lapses are few among the few that were
 * held, so they are not searched for among all due ones.
 */
function claimStatement(schema: string, form: 'any' | 'only'): Statement {
  const columns = 'c.tenant AS of_tenant, c.id AS of_id, c.wake_at AS due_at'
  const now = `(SELECT ${nowMs})`
  const isLeftAlone = `coalesce(($5::jsonb ->> (c.tenant || E'\\n' || c.id))::bigint >= c.last_seq, false)`
  const mayTake = `c.agent = ANY ($3::text[]) AND NOT ${isLeftAlone} AND ${isNotPaused(schema)}`
  const isFree = `(c.epoch IS NULL OR c.leased_until <= ${nowMs} AND ${isSuspect} IS NOT TRUE)`
  const lock = 'FOR UPDATE OF c SKIP LOCKED'
  const free = `SELECT ${columns} FROM ${schema}.conversations c
          WHERE c.wake_at <= ${now} AND ${isFree} AND ${mayTake} ORDER BY c.wake_at LIMIT $4 ${lock}`
  const suspects = `SELECT ${columns} FROM ${schema}.conversations c
          WHERE c.holder IS NOT NULL AND c.leased_until <= ${nowMs} AND ${isSuspect} IS TRUE AND c.wake_at + 0 <= ${nowMs} AND ${mayTake}
          ORDER BY c.wake_at + 0 LIMIT $6 ${lock}`
  const these = `SELECT ${columns} FROM unnest($6::text[], $7::text[]) o (tenant, id)
          JOIN ${schema}.conversations c ON c.tenant = o.tenant AND c.id = o.id
          WHERE c.wake_at <= ${now} AND ${isFree} AND ${mayTake} LIMIT $4 ${lock}`
  const found =
    form === 'any'
      ? `free AS MATERIALIZED (${free}
      ), suspects AS MATERIALIZED (${suspects}
      ), found AS (SELECT * FROM free UNION ALL SELECT * FROM suspects`
      : `found AS MATERIALIZED (${these}`
  return {
    name: `claim_due_${form}`,
    text: `WITH ${found}
      ), picked AS MATERIALIZED (
        SELECT * FROM found ORDER BY due_at LIMIT $4
      ), claimed AS (
        UPDATE ${schema}.conversations c SET ${claimedColumns(schema, '$1', '$2', nowMs)}
        FROM picked p WHERE c.tenant = p.of_tenant AND c.id = p.of_id
        RETURNING p.of_tenant, p.due_at, c.epoch, coalesce(cardinality(c.lapsed), 0) AS lapses,
          CASE WHEN ${isQuarantined} THEN 'quarantined' ELSE 'taken' END AS type, c.idle_seq AS "idleSeq", ${conversationColumns}
      )
      SELECT (SELECT ${nowMs}) AS now, claimed.* FROM (VALUES (1)) one LEFT JOIN claimed ON true ORDER BY claimed.due_at`,
  }
}

/** Ids have no control characters, so the keys of those to leave alone are unambiguous. */
function valuesOf({ holder, ttlMs, agents, limit, except }: PreparedClaim): unknown[] {
  const left = except.map(({ tenant, id, seq }) => [`${tenant}\n${id}`, seq ?? Number.MAX_SAFE_INTEGER])
  return [holder, ttlMs, agents, limit, JSON.stringify(Object.fromEntries(left))]
}

function refColumns(refs: NonNullable<PreparedClaim['only']>): string[] {
  return [arrayLiteral(refs, ({ tenant }) => tenant), arrayLiteral(refs, ({ id }) => id)]
}

function claimedRow(row: Row): ClaimedRow[] {
  if (row.of_tenant === null) return []
  const { now: _, of_tenant: tenant, type, epoch, lapses, ...read } = row
  return [{ tenant, type, epoch, lapses, row: read }]
}
