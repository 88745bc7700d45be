import { lapseWithinMs, mostLapses, quarantineHolder, quarantineUntil } from '../claim.ts'

/** The lapses after a claim, of a row of `conversations` under the alias c; NULL: none. As `judgeClaim` has it. */
export const lapsedAfter = (holder: string, now: string): string => `CASE
  WHEN c.holder IS NULL THEN NULL
  WHEN c.holder <> ${holder} AND c.leased_until <= ${now} AND c.leased_until - c.claimed_at <= ${lapseWithinMs} THEN array_append(c.lapsed, c.epoch)
  ELSE c.lapsed
END`

/** The columns after a claim that may quarantine. */
export const claimedColumns = (schema: string, holder: string, ttlMs: string, now: string): string => {
  const lapsed = lapsedAfter(holder, now)
  const isPoison = `coalesce(cardinality(${lapsed}), 0) >= ${mostLapses}`
  return `
    holder = CASE WHEN ${isPoison} THEN '${quarantineHolder}' ELSE ${holder} END,
    epoch = nextval('${schema}.epochs'),
    leased_until = CASE WHEN ${isPoison} THEN ${quarantineUntil} ELSE ${now} + ${ttlMs}::bigint END,
    claimed_at = ${now},
    lapsed = ${lapsed}`
}

/** Of a row whose lease has lapsed: whether a claim would find lapses. Must be asked for with IS TRUE or IS NOT TRUE. */
export const isSuspect = `(c.lapsed IS NOT NULL OR c.leased_until - c.claimed_at <= ${lapseWithinMs})`

/** Of a row under the alias c. */
export const isQuarantined = `(c.holder = '${quarantineHolder}' AND c.leased_until = ${quarantineUntil})`
