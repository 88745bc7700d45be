import type { Driver } from '../driver.ts'
import { type ClockChange, ClockWatch, type LeaseRef, longestLease, mostLapses } from '../lease.ts'
import type { SlotLimit } from '../slots.ts'
import { claimDue } from './claim-due.ts'
import { arrayLiteral, claimedColumns, isNotPaused, isQuarantined, lapsedAfter, nowMs } from './columns.ts'
import type { Database } from './database.ts'
import { isWithin, limitValues, searchLimits } from './limit-values.ts'

type Methods = 'claimLease' | 'releaseLease' | 'takeBackLapse' | 'unquarantine' | 'renewLeases' | 'dueWork' | 'claimDue'

type ClaimRow = {
  readonly type: 'taken' | 'quarantined' | 'suspect' | 'limited'
  readonly epoch: number | null
  readonly lapses: number | null
  readonly reached?: SlotLimit | null
}

/** One row without a conversation when nothing is due. */
type DueRow = { readonly now: number; readonly tenant: string | null; readonly id: string | null }

type NewsRow = LeaseRef & { readonly news: 'lost' | 'grown' | 'stray'; readonly seq: number | null }

/** Leases, claims and due work. All times are the database's. */
export function leases(database: Database): Pick<Driver, Methods> {
  const { schema } = database
  const isFree = `(c.epoch IS NULL OR c.holder = $3 OR c.leased_until <= ${nowMs})`
  const hasLapses = `${lapsedAfter('$3', nowMs)} IS NOT NULL`
  const claim = {
    name: 'claim_lease',
    text: `WITH claimed AS (
        UPDATE ${schema}.conversations c SET ${claimedColumns(schema, '$3', '$4', nowMs)}
        WHERE c.tenant = $1 AND c.id = $2 AND ${isFree} AND ($5::boolean OR NOT ${hasLapses}) AND ${isNotPaused(schema)}
        RETURNING CASE WHEN ${isQuarantined} THEN 'quarantined' ELSE 'taken' END AS type, c.epoch, coalesce(cardinality(c.lapsed), 0) AS lapses
      )
      SELECT type, epoch, lapses FROM claimed
      UNION ALL SELECT 'suspect', NULL, NULL FROM ${schema}.conversations c
        WHERE c.tenant = $1 AND c.id = $2 AND ${isFree} AND NOT $5::boolean AND ${hasLapses} AND ${isNotPaused(schema)}`,
  }
  // The row is locked before slots are counted.
  const claimWithin = {
    name: 'claim_lease_within',
    text: `WITH judged AS MATERIALIZED (
        SELECT ${schema}.lock_and_judge($1, $2, $6::bigint, $7::bigint, $8::text, $9::bigint) AS reached
      ), claimed AS (
        UPDATE ${schema}.conversations c SET ${claimedColumns(schema, '$3', '$4', nowMs, '$8::text')}
        FROM judged j WHERE c.tenant = $1 AND c.id = $2 AND ${isFree} AND ${isNotPaused(schema)} AND ($5::boolean OR NOT ${hasLapses}) AND j.reached IS NULL
        RETURNING CASE WHEN ${isQuarantined} THEN 'quarantined' ELSE 'taken' END AS type, c.epoch, coalesce(cardinality(c.lapsed), 0) AS lapses
      )
      SELECT type, epoch, lapses, NULL AS reached FROM claimed
      UNION ALL SELECT 'suspect', NULL, NULL, NULL FROM ${schema}.conversations c
        WHERE c.tenant = $1 AND c.id = $2 AND ${isFree} AND ${isNotPaused(schema)} AND NOT $5::boolean AND ${hasLapses}
      UNION ALL SELECT 'limited', NULL, NULL, j.reached FROM judged j, ${schema}.conversations c
        WHERE c.tenant = $1 AND c.id = $2 AND ${isFree} AND ${isNotPaused(schema)} AND ($5::boolean OR NOT ${hasLapses}) AND j.reached IS NOT NULL`,
  }
  const release = {
    name: 'release_lease',
    text: `UPDATE ${schema}.conversations SET holder = NULL, epoch = NULL, leased_until = NULL
      WHERE tenant = $1 AND id = $2 AND epoch = $3`,
  }
  const withoutLapse = 'array_remove(c.lapsed, $3::bigint)'
  const isLifted = `(${isQuarantined} AND cardinality(${withoutLapse}) < ${mostLapses})`
  const takeBack = {
    name: 'take_back_lapse',
    text: `UPDATE ${schema}.conversations c SET
        lapsed = nullif(${withoutLapse}, '{}'),
        leased_until = CASE WHEN ${isLifted} THEN 0 ELSE c.leased_until END,
        claimed_at = CASE WHEN ${isLifted} THEN NULL ELSE c.claimed_at END
      WHERE c.tenant = $1 AND c.id = $2 AND $3::bigint = ANY (c.lapsed)`,
  }
  const unquarantine = {
    name: 'unquarantine',
    text: `UPDATE ${schema}.conversations c SET holder = NULL, epoch = NULL, leased_until = NULL
      WHERE c.tenant = $1 AND c.id = $2 AND ${isQuarantined} RETURNING 1`,
  }
  // Locks in the order that batches lock in. Returns only what has changed. A renewal that waits behind other work may come too late, so it is urgent.
  const renew = {
    name: 'keep_leases',
    isUrgent: true,
    text: `WITH known AS (
        SELECT k.tenant, k.id, k.epoch, k.seq
        FROM unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[]) k (tenant, id, epoch, seq)
      ), held AS (
        SELECT c.tenant, c.id, c.epoch, k.seq
        FROM known k
        JOIN ${schema}.conversations c ON c.tenant = k.tenant AND c.id = k.id AND c.epoch = k.epoch AND c.holder = $1
        ORDER BY c.tenant, c.id
        FOR UPDATE OF c
      ), renewed AS (
        UPDATE ${schema}.conversations c SET leased_until = ${nowMs} + $2::bigint
        FROM held h WHERE c.tenant = h.tenant AND c.id = h.id
        RETURNING c.tenant, c.id, c.epoch, c.last_seq, h.seq
      ), strays AS (
        SELECT tenant, id, epoch FROM ${schema}.conversations WHERE holder = $1
        EXCEPT SELECT tenant, id, epoch FROM known
      ), lost AS (
        SELECT tenant, id, epoch FROM known EXCEPT SELECT tenant, id, epoch FROM renewed
      )
      SELECT 'lost' AS news, tenant, id, epoch, NULL::bigint AS seq FROM lost
      UNION ALL SELECT 'grown', tenant, id, epoch, last_seq FROM renewed WHERE last_seq > seq
      UNION ALL SELECT 'stray', tenant, id, epoch, NULL FROM strays`,
  }
  const due = {
    name: 'due_work',
    text: `SELECT (SELECT ${nowMs}) AS now, d.of_tenant AS tenant, d.of_id AS id FROM (VALUES (1)) one
      LEFT JOIN ${schema}.fair_due($1::text[], $2, $2, $3, '{}', $4, $5::jsonb, $6::bigint, $7::jsonb) WITH ORDINALITY d ON true ORDER BY d.ordinality`,
  }
  const clockWatch = new ClockWatch()
  const correct = repairAfterClockChange(database)
  return {
    claimDue: claimDue(database, { watch: clockWatch, correct }),
    async claimLease(tenant, id, holder, ttlMs, { suspects, limits }) {
      const values = [tenant, id, holder, ttlMs, suspects]
      const [row] = isWithin(limits)
        ? await database.run<ClaimRow>(claimWithin, [...values, ...limitValues(limits)])
        : await database.run<ClaimRow>(claim, values)
      if (!row) return { type: 'held' }
      if (row.type === 'limited') return { type: 'limited', limit: row.reached! }
      return row.type === 'taken' ? { type: 'taken', epoch: row.epoch!, lapses: row.lapses! } : { type: row.type }
    },
    async takeBackLapse(tenant, id, epoch) {
      await database.run(takeBack, [tenant, id, epoch])
    },
    async unquarantine(tenant, id) {
      return (await database.run(unquarantine, [tenant, id], 'reject')).length > 0
    },
    async releaseLease(tenant, id, epoch) {
      await database.run(release, [tenant, id, epoch])
    },
    async renewLeases(holder, ttlMs, known) {
      const columns = (['tenant', 'id', 'epoch', 'seq'] as const).map((name) => arrayLiteral(known, (one) => one[name]))
      const rows = await database.run<NewsRow>(renew, [holder, ttlMs, ...columns])
      const of = (news: NewsRow['news']): LeaseRef[] =>
        rows.filter((row) => row.news === news).map(({ tenant, id, epoch }) => ({ tenant, id, epoch }))
      const grown = rows.filter((row) => row.news === 'grown').map(({ tenant, id, seq }) => ({ tenant, id, seq: seq! }))
      return { lost: of('lost'), grown, strays: of('stray') }
    },
    async dueWork({ agents, limit, suspects = limit, leaseMs, limits = null }) {
      const limited = await searchLimits(database, agents, limits)
      const look = () => database.run<DueRow>(due, [agents, limit, suspects, null, ...limited])
      let rows = await look()
      const { now } = rows[0]!
      const news = clockWatch.observe(now)
      if (news !== 'forward') {
        await correct(news, leaseMs)
        rows = await look()
      }
      clockWatch.repairedAt(now)
      return rows.flatMap(({ tenant, id }) => (tenant === null || id === null ? [] : [{ tenant, id }]))
    },
  }
}

/** Each row is looked up separately by its primary key: a join may read all rows of the tenant for each. */
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

/** The two times that a commit writes are read one after the other. */
const oneCommitMs = 5

/**
 * Repairs leases and wake-ups that a clock which was ahead has written: see `Driver.dueWork`. Reads every conversation that is held or has a wake-up, so it
 * runs rarely. Locks in the order that batches lock in.
 */
function repairAfterClockChange(database: Database): (news: ClockChange, leaseMs: number | undefined) => Promise<void> {
  const { schema } = database
  const isHeld = `(c.leased_until > n.now AND NOT ${isQuarantined})`
  const isTooLong = `(${isHeld} AND c.leased_until > n.now + $1::bigint)`
  const wasDue = `(c.wake_at > n.now AND (c.wake_at <= c.updated_at + ${oneCommitMs} OR ${isTooLong} OR ($2::boolean AND ${isHeld})))`
  const statement = {
    name: 'put_right',
    text: `WITH n AS MATERIALIZED (SELECT ${nowMs} AS now), found AS (
        SELECT c.tenant, c.id, ${isTooLong} IS TRUE AS too_long, ${wasDue} IS TRUE AS was_due
        FROM n, ${schema}.conversations c WHERE c.holder IS NOT NULL OR c.wake_at IS NOT NULL
      ), locked AS (
        SELECT c.tenant, c.id, f.too_long, f.was_due
        FROM found f JOIN ${schema}.conversations c ON c.tenant = f.tenant AND c.id = f.id
        WHERE f.too_long OR f.was_due ORDER BY c.tenant, c.id FOR UPDATE OF c
      )
      UPDATE ${schema}.conversations c SET
        leased_until = CASE WHEN ${isTooLong} THEN n.now + $1::bigint ELSE c.leased_until END,
        wake_at = CASE WHEN ${wasDue} THEN n.now ELSE c.wake_at END
      FROM n, locked l WHERE c.tenant = l.tenant AND c.id = l.id`,
  }
  return async (news, leaseMs) => {
    const longestMs = leaseMs === undefined ? Number.MAX_SAFE_INTEGER - 2 ** 50 : longestLease(leaseMs)
    await database.run(statement, [longestMs, news === 'back'])
  }
}
