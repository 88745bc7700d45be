import { lapseWithinMs, mostLapses, quarantineHolder, quarantineUntil } from '../lease.ts'
import type { PageBounds } from '../store.ts'

/** The lapses after a claim, for a row of `conversations` under the alias c; NULL: none. Same rule as `judgeClaim`. */
export const lapsedAfter = (holder: string, now: string): string => `CASE
  WHEN c.holder IS NULL THEN NULL
  WHEN c.holder <> ${holder} AND c.leased_until <= ${now} AND c.leased_until - c.claimed_at <= ${lapseWithinMs} THEN array_append(c.lapsed, c.epoch)
  ELSE c.lapsed
END`

/** The columns after a claim that may quarantine the conversation. */
/** `account`: an expression for the account of the lease. */
export const claimedColumns = (
  schema: string,
  holder: string,
  ttlMs: string,
  now: string,
  account = 'NULL',
): string => {
  const lapsed = lapsedAfter(holder, now)
  const isPoison = `coalesce(cardinality(${lapsed}), 0) >= ${mostLapses}`
  return `
    holder = CASE WHEN ${isPoison} THEN '${quarantineHolder}' ELSE ${holder} END,
    epoch = nextval('${schema}.epochs'),
    leased_until = CASE WHEN ${isPoison} THEN ${quarantineUntil} ELSE ${now} + ${ttlMs}::bigint END,
    claimed_at = ${now},
    lapsed = ${lapsed},
    account = ${account}`
}

/** For a row whose lease has lapsed: whether a claim would find lapses. Must be tested with IS TRUE or IS NOT TRUE. */
export const isSuspect = `(c.lapsed IS NOT NULL OR c.leased_until - c.claimed_at <= ${lapseWithinMs})`

/** For a row under the alias c. */
export const isQuarantined = `(c.holder = '${quarantineHolder}' AND c.leased_until = ${quarantineUntil})`

/** The conditions under which a pause under the alias p is about a conversation of `tenant`, `id` and `agent` under the given alias: a key of `pauses` each. */
export const pauses = (alias: string): readonly string[] => [
  `p.kind = 'agent' AND p.tenant = '' AND p.name = ${alias}.agent`,
  `p.kind = 'tenant' AND p.tenant = ${alias}.tenant AND p.name = ''`,
  `p.kind = 'conversation' AND p.tenant = ${alias}.tenant AND p.name = ${alias}.id`,
]

/**
 * For a row of `conversations` under the alias c. Where nothing is paused, it costs one look at an empty table for each statement, however many rows there are.
 */
export const isNotPaused = (schema: string): string =>
  `(NOT (SELECT EXISTS (SELECT FROM ${schema}.pauses)) OR NOT (${pauses('c')
    .map((condition) => `EXISTS (SELECT FROM ${schema}.pauses p WHERE ${condition})`)
    .join(' OR ')}))`

/** Columns under the driver's names, so that a result row can be returned as it is. */
export const eventColumns = 'seq, at, type, content'

export const summaryColumns = 'from_seq AS "fromSeq", to_seq AS "toSeq", content, version, base'

/** For the table `conversations` under the alias c. */
export const conversationColumns = `
  id, kind, agent, owner, status, settings, fsm_state AS "fsmState", title, parent, last_seq AS "lastSeq",
  created_at AS "createdAt", updated_at AS "updatedAt", CASE WHEN ${isQuarantined} THEN claimed_at END AS "quarantinedAt",
  CASE WHEN ${isQuarantined} THEN epoch END AS "quarantineEpoch"`

/** How many calls of a row of `conversations` under the alias c wait for an answer. */
export const waiting = (
  schema: string,
): string => `(SELECT count(*) FROM ${schema}.calls t WHERE t.tenant ${secondary} = c.tenant
  AND t.conversation_id = c.id AND t.status = 'pending' AND t.kind <> 'sub_agent') AS waiting`

/** For the table `calls` under the alias t. */
export const callColumns = `
  t.id, t.conversation_id AS "conversationId", t.name, t.executor, t.status, t.args, t.result, t.round, t.kind, t.prompt,
  t.expires_at AS "expiresAt", t.created_at AS "createdAt", t.resolved_at AS "resolvedAt", t.resolved_seq AS "resolvedSeq", t.notice, t.meta`

/** The names that `conversationColumns` and `callColumns` select. */
export const conversationNames =
  'id, kind, agent, owner, status, settings, "fsmState", title, parent, "lastSeq", "createdAt", "updatedAt", "quarantinedAt", "quarantineEpoch"'

export const callNames = `id, "conversationId", name, executor, status, args, result, round, kind, prompt, "expiresAt", "createdAt", "resolvedAt",
  "resolvedSeq", notice, meta`

/** The database's clock in milliseconds. In a condition, wrap it as `(SELECT ...)`, or no index is used. */
export const nowMs = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/**
 * Marks the tenant in every index except the primary key, and in the queries that such an index is for. It orders like "C", but Postgres only uses an index
 * whose collation matches. So a lookup by primary key never uses another index, which happens by chance while a table has no statistics and then reads all rows
 * of the tenant.
 */
export const secondary = 'COLLATE "POSIX"'

type Element = string | number | boolean | null

/** A Postgres array as text, with what `read` returns for each item. Must be fast: a batch has about twenty of them. */
export function arrayLiteral<T>(items: readonly T[], read: (item: T) => Element): string {
  let text = '{'
  for (let index = 0; index < items.length; index++) {
    const element = read(items[index]!)
    if (index > 0) text += ','
    if (typeof element === 'string') text += quote(element)
    else text += element === null ? 'NULL' : element
  }
  return `${text}}`
}

/** Ids and encoded values have no control characters and no lone surrogates; for such text, JSON escapes exactly what an array needs. */
function quote(text: string): string {
  if (text.isWellFormed() && !control.test(text)) return JSON.stringify(text)
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const control = /[\u0000-\u001f]/

type Shape = {
  /** The columns that the statement returns. */
  readonly columns: string
  readonly order: string
  /** The same order, by the returned names. Default: the names are the same. */
  readonly returnedOrder?: string
  /** The columns whose bytes count; null counts as 0. */
  readonly bytes: readonly string[]
}

/**
 * Bounds a statement: as many rows as fit, and at least one. The database counts bytes without fetching values stored out of line, so a page costs no more than
 * what it returns. A page without a limit counts its whole range.
 */
export class Page {
  readonly #bounds: PageBounds
  readonly values: unknown[]

  constructor(bounds: PageBounds, values: readonly unknown[]) {
    this.#bounds = bounds
    this.values = [...values]
  }

  /** Adds its own values to those of the statement. Must be called once. */
  within(select: string, { columns, order, returnedOrder = order, bytes }: Shape): string {
    const { limit, maxBytes } = this.#bounds
    const limited = limit === undefined ? '' : `LIMIT ${this.#place(limit)}`
    if (maxBytes === undefined) return `${select} ORDER BY ${order} ${limited}`
    const size = bytes.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ')
    return `SELECT ${columns} FROM (
        SELECT *, row_number() OVER rows AS place, sum(${size}) OVER rows AS total
        FROM (${select} ORDER BY ${order} ${limited}) AS found WINDOW rows AS (ORDER BY ${returnedOrder} ROWS UNBOUNDED PRECEDING)
      ) AS counted WHERE place = 1 OR total <= ${this.#place(maxBytes)} ORDER BY ${returnedOrder}`
  }

  /** A different name for each form of the statement. */
  named(name: string): string {
    const { limit, maxBytes } = this.#bounds
    return `${name}${limit === undefined ? '' : '_limited'}${maxBytes === undefined ? '' : '_bounded'}`
  }

  #place(value: unknown): string {
    return `$${this.values.push(value)}`
  }
}
