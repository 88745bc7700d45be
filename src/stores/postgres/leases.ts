import type { ConversationRef } from '../../store/conversation-record.ts'
import type { Driver } from '../../store/driver.ts'
import type { LeaseRef } from '../../store/lease-news.ts'
import { arrayLiteral } from './array-literal.ts'
import type { Database } from './database.ts'
import { nowMs } from './sql-names.ts'

type Methods = 'acquireLease' | 'releaseLease' | 'renewLeases' | 'dueWork'

type NewsRow = LeaseRef & { readonly news: 'lost' | 'grown' | 'stray'; readonly seq: number | null }

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
  // Locked in the order that batches lock in. Only what has changed comes back. A renewal that waits for other work may come too late.
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
    async renewLeases(holder, ttlMs, known) {
      const columns = (['tenant', 'id', 'epoch', 'seq'] as const).map((name) => arrayLiteral(known, (one) => one[name]))
      const rows = await database.run<NewsRow>(renew, [holder, ttlMs, ...columns])
      const of = (news: NewsRow['news']): LeaseRef[] =>
        rows.filter((row) => row.news === news).map(({ tenant, id, epoch }) => ({ tenant, id, epoch }))
      const grown = rows.filter((row) => row.news === 'grown').map(({ tenant, id, seq }) => ({ tenant, id, seq: seq! }))
      return { lost: of('lost'), grown, strays: of('stray') }
    },
    dueWork: ({ agents, limit }) => database.run<ConversationRef>(due, [agents, limit]),
  }
}
