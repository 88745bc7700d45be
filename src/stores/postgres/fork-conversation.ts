import { uuidV7 } from '../../id/uuid-v7.ts'
import type {
  Driver,
  ForkOutcome,
  ForkRequest,
  StoredCall,
  StoredConversation,
  StoredEvent,
  StoredSummary,
} from '../../store/driver.ts'
import { type ForkPlan, type ForkSource, planFork } from '../../store/plan-fork.ts'
import { callColumns, conversationColumns, eventColumns, summaryColumns } from './columns.ts'
import type { Database, Query } from './database.ts'
import { nowMs, secondary } from './sql-names.ts'

type Fork = { readonly tenant: string; readonly id: string; readonly newId: string }

/** Plans the copy in the process, and writes it in the database: the events themselves do not travel. */
export function forkConversation(database: Database): Driver['fork'] {
  const statements = forkStatements(database.schema)

  async function fork(query: Query, { tenant, id, newId }: Fork, { at, agent }: ForkRequest): Promise<ForkOutcome> {
    const [conversation] = await query<StoredConversation>(statements.lockSource, [tenant, id])
    if (!conversation) return 'missing'
    if ((await query(statements.exists, [tenant, newId])).length > 0) return 'exists'
    const end = at ?? conversation.lastSeq
    if (end > conversation.lastSeq) return { pastEnd: conversation.lastSeq }
    const source = await readSource(query, tenant, conversation, end)
    const plan = planFork({ ...source, agent }, newId, () => uuidV7())
    return (await writeCopy(query, { tenant, id, newId }, end, plan)) ? 'ok' : 'exists'
  }

  async function readSource(
    query: Query,
    tenant: string,
    conversation: StoredConversation,
    at: number,
  ): Promise<Omit<ForkSource, 'agent'>> {
    const { id } = conversation
    const [summary = null] = await query<StoredSummary>(statements.summary, [tenant, id, at])
    const events = await query<StoredEvent>(statements.events, [tenant, id, summary?.toSeq ?? 0, at])
    const pending = await query<StoredCall>(statements.pending, [tenant, id])
    return { conversation, summary, events, pending, at }
  }

  /** False when somebody else has created the copy meanwhile. */
  async function writeCopy(query: Query, { tenant, id, newId }: Fork, end: number, plan: ForkPlan): Promise<boolean> {
    const { kind, agent, status, settings, fsmState, title, parent } = plan.conversation
    const lastSeq = end + plan.appended.length
    const columns = [kind, agent, status, settings, fsmState, title, parent, lastSeq]
    const [copy] = await query<{ created_at: number }>(statements.insertCopy, [tenant, newId, ...columns])
    if (!copy) return false
    const seqs = plan.replaced.map(({ seq }) => seq)
    const contents = plan.replaced.map(({ content }) => content)
    await query(statements.copyEvents, [tenant, id, newId, end, seqs])
    await query(statements.copyReplaced, [tenant, id, newId, seqs, contents])
    const types = plan.appended.map(({ type }) => type)
    const texts = plan.appended.map(({ content }) => content)
    await query(statements.append, [tenant, newId, end, copy.created_at, types, texts])
    await query(statements.copySummaries, [tenant, id, newId, end])
    await query(statements.copyBlobRefs, [tenant, id, newId, end])
    for (const call of plan.calls) await query(statements.insertCall, [tenant, ...callValues(call)])
    return true
  }

  return (tenant, id, newId, request) =>
    database.transaction(async (query) => {
      const value = await fork(query, { tenant, id, newId }, request)
      return { commit: value === 'ok', value }
    })
}

function callValues(call: StoredCall): unknown[] {
  const { id, conversationId, name, executor, status, args, result, round, kind, prompt } = call
  const { expiresAt, createdAt, resolvedAt, resolvedSeq } = call
  const description = [id, conversationId, name, executor, status, args, result, round, kind, prompt]
  return [...description, expiresAt, createdAt, resolvedAt, resolvedSeq]
}

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
          (tenant, id, kind, agent, status, settings, fsm_state, title, parent, last_seq, is_dormant, created_at, updated_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::bigint, true, n.now, n.now FROM (SELECT ${nowMs} AS now) n
        ON CONFLICT DO NOTHING RETURNING created_at`,
    },
    copyEvents: {
      name: 'fork_copy_events',
      text: `INSERT INTO ${schema}.events (tenant, conversation_id, seq, at, type, content)
        SELECT tenant, $3, seq, at, type, content FROM ${schema}.events
        WHERE tenant = $1 AND conversation_id = $2 AND seq <= $4 AND NOT (seq = ANY ($5::bigint[]))`,
    },
    copyReplaced: {
      name: 'fork_copy_replaced',
      text: `INSERT INTO ${schema}.events (tenant, conversation_id, seq, at, type, content)
        SELECT e.tenant, $3, e.seq, e.at, e.type, r.content
        FROM unnest($4::bigint[], $5::text[]) r (seq, content)
        JOIN ${schema}.events e ON e.tenant = $1 AND e.conversation_id = $2 AND e.seq = r.seq`,
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
    insertCall: {
      name: 'fork_insert_call',
      text: `INSERT INTO ${schema}.calls (tenant, id, conversation_id, name, executor, status, args, result, round, kind,
          prompt, expires_at, created_at, resolved_at, resolved_seq)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    },
  }
}
