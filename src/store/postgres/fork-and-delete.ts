import { uuidV7 } from '../../base/uuid-v7.ts'
import type {
  Driver,
  ForkOutcome,
  ForkRequest,
  StoredCall,
  StoredConversation,
  StoredEvent,
  StoredSummary,
} from '../driver.ts'
import { type ForkPlan, type ForkSource, planFork } from '../plan-fork.ts'
import { callColumns, conversationColumns, eventColumns, nowMs, secondary, summaryColumns } from './columns.ts'
import type { Database, Query } from './database.ts'
import { writeNoOutbox } from './outbox-tables.ts'

type Fork = { readonly tenant: string; readonly id: string; readonly newId: string }

/** Plans the copy in the process and writes it in the database: the events are not sent over the network. */
export function forkConversation(database: Database): Driver['fork'] {
  const statements = forkStatements(database.schema)

  async function fork(query: Query, { tenant, id, newId }: Fork, request: ForkRequest): Promise<ForkOutcome> {
    const [conversation] = await query<StoredConversation>(statements.lockSource, [tenant, id])
    if (!conversation) return 'missing'
    if ((await query(statements.exists, [tenant, newId])).length > 0) return 'exists'
    const end = request.at ?? conversation.lastSeq
    if (end > conversation.lastSeq) return { pastEnd: conversation.lastSeq }
    const source = await readSource(query, tenant, conversation, end)
    const { agent, owner } = request
    const plan = planFork({ ...source, agent, owner }, newId, () => uuidV7())
    return (await writeCopy(query, { tenant, id, newId }, end, plan)) ? 'ok' : 'exists'
  }

  async function readSource(
    query: Query,
    tenant: string,
    conversation: StoredConversation,
    at: number,
  ): Promise<Omit<ForkSource, 'agent' | 'owner'>> {
    const { id } = conversation
    const [summary = null] = await query<StoredSummary>(statements.summary, [tenant, id, at])
    const events = await query<StoredEvent>(statements.events, [tenant, id, summary?.toSeq ?? 0, at])
    const pending = await query<StoredCall>(statements.pending, [tenant, id])
    return { conversation, summary, events, pending, at }
  }

  /** False if another process has created the copy. */
  async function writeCopy(query: Query, { tenant, id, newId }: Fork, end: number, plan: ForkPlan): Promise<boolean> {
    const { kind, agent, owner, status, settings, fsmState, title, parent } = plan.conversation
    const lastSeq = end + plan.appended.length
    const columns = [kind, agent, status, settings, fsmState, title, parent, lastSeq, owner]
    const [copy] = await query<{ created_at: number }>(statements.insertCopy, [tenant, newId, ...columns])
    if (!copy) return false
    const seqs = plan.replaced.map(({ seq }) => seq)
    const contents = plan.replaced.map(({ content }) => content)
    const [froms, tos] = rangesBetween(seqs, end)
    await query(statements.copyEvents, [tenant, id, newId, froms, tos])
    await query(statements.copyReplaced, [tenant, id, newId, seqs, contents])
    const types = plan.appended.map(({ type }) => type)
    const texts = plan.appended.map(({ content }) => content)
    await query(statements.append, [tenant, newId, end, copy.created_at, types, texts])
    await query(statements.copySummaries, [tenant, id, newId, end])
    await query(statements.copyBlobRefs, [tenant, id, newId, end])
    if (plan.calls.length > 0) await query(statements.insertCalls, [tenant, ...callColumnsOf(plan.calls)])
    return true
  }

  return (tenant, id, newId, request) =>
    database.transaction(async (query) => {
      const value = await fork(query, { tenant, id, newId }, request)
      return { commit: value === 'ok', value }
    })
}

/** The first and last seqs of the ranges between these, from 1 to `end`. */
function rangesBetween(seqs: readonly number[], end: number): [froms: number[], tos: number[]] {
  const ordered = seqs.toSorted((one, other) => one - other)
  const [befores, afters] = [
    [0, ...ordered],
    [...ordered, end + 1],
  ]
  const ranges = befores.map((before, index) => [before + 1, afters[index]! - 1] as const)
  const some = ranges.filter(([from, to]) => from <= to)
  return [some.map(([from]) => from), some.map(([, to]) => to)]
}

/** One list per column. */
function callColumnsOf(calls: readonly StoredCall[]): unknown[][] {
  const names = [
    'id',
    'conversationId',
    'name',
    'executor',
    'status',
    'args',
    'result',
    'round',
    'kind',
    'prompt',
    'notice',
    'meta',
  ] as const
  const times = ['expiresAt', 'createdAt', 'resolvedAt', 'resolvedSeq'] as const
  return [...names, ...times].map((name) => calls.map((call) => call[name]))
}

/** Rows are looked up by their primary key, one by one or in ranges: a join may read the whole log for each of them. */
function forkStatements(schema: string) {
  return {
    lockSource: {
      name: 'fork_lock',
      text: `SELECT ${conversationColumns} FROM ${schema}.conversations c WHERE tenant = $1 AND id = $2 FOR UPDATE`,
    },
    exists: { name: 'fork_exists', text: `SELECT 1 FROM ${schema}.conversations WHERE tenant = $1 AND id = $2` },
    summary: {
      name: 'fork_summary',
      text: `SELECT ${summaryColumns} FROM ${schema}.summaries
        WHERE tenant = $1 AND conversation_id = $2 AND to_seq <= $3 ORDER BY to_seq DESC LIMIT 1`,
    },
    events: {
      name: 'fork_events',
      text: `SELECT ${eventColumns} FROM ${schema}.events
        WHERE tenant = $1 AND conversation_id = $2 AND seq > $3 AND seq <= $4 ORDER BY seq`,
    },
    pending: {
      name: 'fork_pending',
      text: `SELECT ${callColumns} FROM ${schema}.calls t
        WHERE t.tenant ${secondary} = $1 AND t.conversation_id = $2 AND t.status = 'pending' ORDER BY t.created_at, t.id`,
    },
    insertCopy: {
      name: 'fork_insert',
      text: `INSERT INTO ${schema}.conversations
          (tenant, id, kind, agent, status, settings, fsm_state, title, parent, last_seq, owner, is_dormant,
           created_at, updated_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::bigint, $11, true, n.now, n.now FROM (SELECT ${nowMs} AS now) n
        ON CONFLICT DO NOTHING RETURNING created_at, ${writeNoOutbox}`,
    },
    copyEvents: {
      name: 'fork_copy_events',
      text: `INSERT INTO ${schema}.events (tenant, conversation_id, seq, at, type, content)
        SELECT e.tenant, $3, e.seq, e.at, e.type, e.content
        FROM unnest($4::bigint[], $5::bigint[]) r (first, last)
        JOIN LATERAL (
          SELECT * FROM ${schema}.events
          WHERE tenant = $1 AND conversation_id = $2 AND seq BETWEEN r.first AND r.last OFFSET 0
        ) e ON true`,
    },
    copyReplaced: {
      name: 'fork_copy_replaced',
      text: `INSERT INTO ${schema}.events (tenant, conversation_id, seq, at, type, content)
        SELECT e.tenant, $3, e.seq, e.at, e.type, r.content
        FROM unnest($4::bigint[], $5::text[]) r (seq, content)
        JOIN LATERAL (
          SELECT * FROM ${schema}.events WHERE tenant = $1 AND conversation_id = $2 AND seq = r.seq LIMIT 1
        ) e ON true`,
    },
    append: {
      name: 'fork_append',
      text: `INSERT INTO ${schema}.events (tenant, conversation_id, seq, at, type, content)
        SELECT $1, $2, $3::bigint + a.position, $4::bigint, a.type, a.content
        FROM unnest($5::text[], $6::text[]) WITH ORDINALITY a (type, content, position)`,
    },
    copySummaries: {
      name: 'fork_copy_summaries',
      text: `INSERT INTO ${schema}.summaries (tenant, conversation_id, from_seq, to_seq, content, version, base)
        SELECT tenant, $3, from_seq, to_seq, content, version, base FROM ${schema}.summaries
        WHERE tenant = $1 AND conversation_id = $2 AND to_seq <= $4`,
    },
    copyBlobRefs: {
      name: 'fork_copy_blob_refs',
      text: `INSERT INTO ${schema}.blob_refs (tenant, conversation_id, hash, first_seq)
        SELECT tenant, $3, hash, first_seq FROM ${schema}.blob_refs
        WHERE tenant = $1 AND conversation_id = $2 AND first_seq <= $4`,
    },
    insertCalls: {
      name: 'fork_insert_calls',
      text: `INSERT INTO ${schema}.calls (tenant, id, conversation_id, name, executor, status, args, result, round, kind,
          prompt, notice, meta, expires_at, created_at, resolved_at, resolved_seq)
        SELECT $1, c.* FROM unnest(
          $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[],
          $11::text[], $12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[]
        ) c`,
    },
  }
}
