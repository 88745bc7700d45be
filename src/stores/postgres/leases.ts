import type { ConversationRef } from '../../store/conversation-record.ts'
import type { Driver } from '../../store/driver.ts'
import type { Database } from './database.ts'
import { nowMs } from './sql-names.ts'

type Methods = 'acquireLease' | 'releaseLease' | 'renewLeases' | 'dueWork'

/** Who works on what. All times are the database's. */
export function leases(database: Database): Pick<Driver, Methods> {
  const { schema } = database
  const acquire = {
    name: 'acquire_lease',
    text: `UPDATE ${schema}.conversations SET
        holder = $3, epoch = nextval('${schema}.epochs'), leased_until = ${nowMs} + $4::bigint
      WHERE tenant = $1 AND id = $2 AND (epoch IS NULL OR holder = $3 OR leased_until <= ${nowMs})
      RETURNING epoch`,
  }
  const release = {
    name: 'release_lease',
    text: `UPDATE ${schema}.conversations SET holder = NULL, epoch = NULL, leased_until = NULL
      WHERE tenant = $1 AND id = $2 AND epoch = $3`,
  }
  // Locked in the order that batches lock in.
  const renew = {
    name: 'renew_leases',
    text: `WITH held AS (
        SELECT tenant, id FROM ${schema}.conversations WHERE holder = $1 ORDER BY tenant, id FOR UPDATE
      )
      UPDATE ${schema}.conversations c SET leased_until = ${nowMs} + $2::bigint
      FROM held WHERE c.tenant = held.tenant AND c.id = held.id AND c.holder = $1
      RETURNING c.tenant, c.id, c.epoch`,
  }
  const due = {
    name: 'due_work',
    text: `SELECT tenant, id FROM ${schema}.conversations
      WHERE wake_at <= (SELECT ${nowMs}) AND agent = ANY ($1::text[]) AND (epoch IS NULL OR leased_until <= ${nowMs})
      ORDER BY wake_at LIMIT $2`,
  }
  return {
    async acquireLease(tenant, id, holder, ttlMs) {
      const [row] = await database.run<{ epoch: number }>(acquire, [tenant, id, holder, ttlMs])
      return row?.epoch ?? null
    },
    async releaseLease(tenant, id, epoch) {
      await database.run(release, [tenant, id, epoch])
    },
    renewLeases: (holder, ttlMs) => database.run<ConversationRef & { epoch: number }>(renew, [holder, ttlMs]),
    dueWork: ({ agents, limit }) => database.run<ConversationRef>(due, [agents, limit]),
  }
}
