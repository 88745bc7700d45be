import {
  type Delivery,
  type FailedDelivery,
  type Outbox,
  type SubscriberState,
  type Subscription,
  stoppedSince,
} from '../outbox.ts'
import { nowMs, secondary } from './columns.ts'
import type { Database, Query } from './database.ts'

/** Creating the trigger waits for the commits that are under way, and new commits wait for it: so it gives up soon, and its caller tries again. */
const lockTimeoutMs = 1_000

type SubscriberRow = Omit<SubscriberState, 'stoppedAt'> & { readonly now: number }

/** The functions that this calls are in `outbox-tables.ts`. */
export function postgresOutbox(database: Database): Outbox {
  const { schema } = database
  const statements = outboxStatements(schema)

  /** One registration at a time. */
  async function locked(query: Query): Promise<void> {
    await query(statements.lock, [`perdure subscribers of ${schema}`])
  }

  return {
    register: (subscribers) =>
      database.transaction(async (query) => {
        await locked(query)
        const value = []
        for (const { name, agent, types } of subscribers as readonly Subscription[]) {
          const [row] = await query<{ now: number; claimed_at: number | null }>(statements.register, [
            name,
            agent,
            types,
          ])
          const { now, claimed_at: claimedAt } = row!
          value.push({
            name,
            isNew: claimedAt === null,
            stoppedAt: claimedAt === null ? null : stoppedSince(claimedAt, now),
          })
        }
        // Durable from here, once committed: every later commit of any process writes rows for these subscribers.
        return { commit: true, value }
      }, 'repeat'),
    // Not repeated when the answer is lost: claimed lines are due again when their lease ends.
    claim: ({ subscribers, limit, leaseMs, lapsed }) =>
      database.run<Delivery>(statements.claim, [subscribers, limit, leaseMs, lapsed], 'reject'),
    async settle(delivery, end) {
      const { subscriber, tenant, conversationId, seq, tries, token } = delivery
      const ms = end.type === 'again' ? end.inMs : (end.leaseMs ?? null)
      const [row] = await database.run<{ seq: number | null }>(statements.settle, [
        ...[tenant, conversationId, subscriber, seq, tries, token, end.type, ms],
        ...[end.type === 'again' ? end.tries : null, end.type === 'failed' ? end.error : null],
      ])
      if (!row) return { type: 'lost' }
      return { type: 'ok', next: row.seq === null ? null : { ...delivery, seq: row.seq, tries: 0 } }
    },
    failed: ({ subscriber, before, limit } = {}) =>
      database.run<FailedDelivery>(statements.failed, [before ?? null, subscriber ?? null, limit ?? null]),
    async endFailed(ids, how) {
      const statement = how === 'retry' ? statements.retry : statements.discard
      const [row] = await database.run<{ count: number }>(statement, [ids], 'reject')
      return row!.count
    },
    async subscribers() {
      const rows = await database.run<SubscriberRow>(statements.subscribers, [])
      return rows.map(({ now, ...row }) => ({ ...row, stoppedAt: stoppedSince(row.claimedAt, now) }))
    },
    removeSubscriber: (name) =>
      database.transaction(async (query) => {
        await locked(query)
        const [row] = await query<{ removed: boolean }>(statements.remove, [name])
        return { commit: true, value: row!.removed }
      }),
  }
}

function outboxStatements(schema: string) {
  return {
    lock: {
      name: 'outbox_lock',
      text: `SELECT set_config('lock_timeout', '${lockTimeoutMs}', true), pg_advisory_xact_lock(hashtextextended($1, 0))`,
    },
    register: {
      name: 'outbox_register',
      text: `SELECT now, claimed_at FROM ${schema}.register_subscriber($1, $2, $3::text[])`,
    },
    claim: { name: 'outbox_claim', text: `SELECT * FROM ${schema}.claim_deliveries($1::text[], $2, $3, $4)` },
    settle: {
      name: 'outbox_settle',
      text: `SELECT seq FROM ${schema}.settle_delivery($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    },
    failed: {
      name: 'outbox_failed',
      text: `SELECT id, subscriber, tenant, conversation_id AS "conversationId", seq, tries, error, failed_at AS "failedAt"
        FROM ${schema}.outbox_failed
        WHERE ($1::bigint IS NULL OR id < $1) AND ($2::text IS NULL OR subscriber = $2) ORDER BY id DESC LIMIT $3`,
    },
    retry: { name: 'outbox_retry', text: `SELECT ${schema}.retry_failed($1::bigint[]) AS count` },
    discard: {
      name: 'outbox_discard',
      text: `WITH gone AS (DELETE FROM ${schema}.outbox_failed WHERE id = ANY ($1::bigint[]) RETURNING 1)
        SELECT count(*) AS count FROM gone`,
    },
    subscribers: {
      name: 'outbox_subscribers',
      text: `SELECT s.name, s.agent, s.claimed_at AS "claimedAt", ${nowMs} AS now,
          ARRAY(SELECT n.type FROM ${schema}.subscriptions n WHERE n.subscriber = s.name ORDER BY n.type) AS types,
          (SELECT count(*) FROM ${schema}.outbox_lines l
            JOIN ${schema}.outbox o USING (tenant, conversation_id, subscriber) WHERE l.subscriber ${secondary} = s.name) AS waiting,
          (SELECT count(*) FROM ${schema}.outbox_failed f WHERE f.subscriber = s.name) AS failed
        FROM ${schema}.subscribers s ORDER BY s.name`,
    },
    remove: { name: 'outbox_remove', text: `SELECT ${schema}.remove_subscriber($1) AS removed` },
  }
}
