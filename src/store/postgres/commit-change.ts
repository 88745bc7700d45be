import type { CommitOutcome, PreparedChange } from '../driver.ts'
import { mergeSettings } from '../rows.ts'
import { passesAfter, type SlotLimit } from '../slots.ts'
import { arrayLiteral, isNotPaused, lapsedAfter, nowMs } from './columns.ts'
import { type Addressed, commitQuery } from './commit-query.ts'
import type { Database, Query, Statement } from './database.ts'
import { isDuplicate } from './failure.ts'
import { CommitBatcher, isRepeatable } from './group-commit.ts'
import { isWithin } from './limit-values.ts'

const maxChanges = 64
const lanes = 4

/** Commits in a batch with other changes; alone when there are settings to merge, which happens here and not in the database, a deadline to move, or summaries to delete. */
export function commitChange(
  database: Database,
  poolSize: number,
): (tenant: string, id: string, change: PreparedChange) => Promise<CommitOutcome> {
  const batcher = new CommitBatcher({ send: commitBatch(database), lanes: Math.min(lanes, poolSize), maxChanges })
  const lockSettings = {
    name: 'lock_settings',
    text: `SELECT settings FROM ${database.schema}.conversations WHERE tenant = $1 AND id = $2 FOR UPDATE`,
  }

  async function mergeAndCommit(query: Query, { tenant, id, change }: Addressed): Promise<CommitOutcome> {
    for (;;) {
      const { settings: added } = change.attrs
      const [current] = added === undefined ? [] : await query<{ settings: string }>(lockSettings, [tenant, id])
      const settings = current ? { settings: mergeSettings(current.settings, added!) } : {}
      const merged = { tenant, id, change: { ...change, attrs: { ...change.attrs, ...settings } } }
      const outcome = await commitMerged(query, database.schema, merged, current !== undefined)
      if (outcome.type !== 'settings') return outcome
      // Another process has created it since the lookup; now its row can be locked.
    }
  }

  const moveDeadline = {
    name: 'move_deadline',
    text: `UPDATE ${database.schema}.calls SET expires_at = $5::bigint + $6::bigint
      WHERE tenant = $1 AND conversation_id = $2 AND id = $3 AND status = 'pending' AND round = $4 RETURNING id`,
  }

  const deleteSummaries = {
    name: 'delete_summaries',
    text: `DELETE FROM ${database.schema}.summaries WHERE tenant = $1 AND conversation_id = $2 AND to_seq >= $3`,
  }

  const seedLock = { name: 'seed_lock', text: `SELECT ${database.schema}.tombstone_lock($1, $2)` }
  const tombstone = {
    name: 'tombstone',
    text: `SELECT 1 FROM ${database.schema}.tombstones WHERE tenant = $1 AND id = $2`,
  }

  /** Whether the change has begun a log whose id was deleted. A known key has no time, and is answered whatever happened since. */
  async function beginsDeleted(
    query: Query,
    { tenant, id, change }: Addressed,
    outcome: CommitOutcome,
  ): Promise<boolean> {
    if (!change.seeds || outcome.type !== 'ok' || outcome.at === undefined) return false
    return outcome.seq === change.events.length && (await query(tombstone, [tenant, id])).length > 0
  }

  /** The commit locks the conversation until the end of the transaction, so what the row says cannot change before that. */
  async function commitAlone(query: Query, addressed: Addressed): Promise<CommitOutcome> {
    const { tenant, id, change } = addressed
    const { deadline } = change
    // There may be no row yet that a deletion could wait for.
    if (change.seeds) await query(seedLock, [tenant, id])
    const outcome = await mergeAndCommit(query, addressed)
    if (await beginsDeleted(query, addressed, outcome)) return { type: 'deleted' }
    // A known key has no time: the summaries were deleted the first time, and newer ones may stand.
    if (change.withdrawsFrom !== null && outcome.type === 'ok' && outcome.at !== undefined) {
      await query(deleteSummaries, [tenant, id, change.withdrawsFrom])
    }
    if (!deadline || (outcome.type !== 'ok' && outcome.type !== 'missing')) return outcome
    const { callId, round, expiresInMs } = deadline
    if (outcome.type === 'missing') return { type: 'stale', lastSeq: 0, callId, round }
    // A known key: the deadline was moved the first time.
    if (outcome.at === undefined) return outcome
    const moved = await query(moveDeadline, [tenant, id, callId, round, outcome.at, expiresInMs])
    return moved.length > 0 ? outcome : { type: 'stale', lastSeq: outcome.seq - change.events.length, callId, round }
  }

  return async (tenant, id, change) => {
    const addressed = { tenant, id, change }
    const goesAlone = change.deadline || change.seeds || change.withdrawsFrom !== null
    const outcome = goesAlone ? null : await batcher.commit(addressed)
    if (outcome && outcome.type !== 'settings') return outcome
    return database.transaction(
      async (query) => {
        const value = await commitAlone(query, addressed)
        return { commit: value.type === 'ok', value }
      },
      isRepeatable(change) ? 'repeat' : 'reject',
    )
  }
}

/** `settings`: nothing was written, because the conversation has settings to merge with. */
export type BatchOutcome = CommitOutcome | { readonly type: 'settings' }

function commitBatch(database: Database): (batch: readonly Addressed[]) => Promise<BatchOutcome[]> {
  const one = commitOne(database)
  return async (batch) => {
    const alone = batch.length === 1 ? await one(batch[0]!) : null
    if (alone) return [alone]
    const { statement, values } = commitQuery(database.schema, batch, false)
    // Durable from here: a crash after the answer finds every accepted change of the batch; before it, all of them or none.
    const rows = await database.run<OutcomeRow>(statement, values, 'reject')
    return inOrder(batch, rows)
  }
}

/** Commits one change inside the caller's transaction. The caller has merged its settings with those it has locked. */
async function commitMerged(
  query: Query,
  schema: string,
  addressed: Addressed,
  hasMergedSettings: boolean,
): Promise<BatchOutcome> {
  const { statement, values } = commitQuery(schema, [addressed], hasMergedSettings)
  const rows = await query<OutcomeRow>(statement, values)
  return inOrder([addressed], rows)[0]!
}

type OutcomeRow = {
  readonly change: number
  readonly outcome: BatchOutcome['type'] | 'known' | 'leased' | 'limited'
  /** For `known`, the `seq` of the first time; for a refusal, the log's last; for `leased`, which follows an `ok`, the epoch. */
  readonly seq: number
  readonly at: number | null
  readonly call_id: string | null
  readonly round: number | null
}

function inOrder(batch: readonly Addressed[], rows: readonly OutcomeRow[]): BatchOutcome[] {
  const outcomes = new Array<BatchOutcome>(batch.length)
  for (const row of rows) {
    const index = row.change - 1
    const made = outcomes[index]
    if (row.outcome === 'limited') {
      if (made?.type === 'ok') outcomes[index] = { ...made, limited: row.call_id as SlotLimit }
    } else if (row.outcome !== 'leased') outcomes[index] = outcomeOf({ ...row, outcome: row.outcome })
    else if (made?.type === 'ok') outcomes[index] = { ...made, epoch: row.seq }
  }
  return outcomes
}

type JudgedRow = OutcomeRow & { readonly outcome: Exclude<OutcomeRow['outcome'], 'leased' | 'limited'> }

function outcomeOf({ outcome, seq, at, call_id, round }: JudgedRow): BatchOutcome {
  switch (outcome) {
    case 'ok':
      return { type: 'ok', seq, at: at! }
    case 'known':
      return { type: 'ok', seq }
    case 'seq':
    case 'epoch':
      return { type: outcome, lastSeq: seq }
    case 'stale':
      return { type: 'stale', lastSeq: seq, callId: call_id!, round: round! }
    case 'call_elsewhere':
      return { type: 'call_elsewhere', callId: call_id! }
    case 'owned':
    case 'key_reused':
    case 'missing':
    case 'deleted':
    case 'settings':
      return { type: outcome }
  }
}

type Shape = {
  readonly hasKey: boolean
  readonly hasTime: boolean
  readonly hasAgent: boolean
  readonly takesLease: boolean
  /** Ends a turn under a lease that continues: its lapses are forgotten. */
  readonly endsTurn: boolean
  /** Whether the turn is being cancelled after it; null: as before. */
  readonly terminating: boolean | null
}

/**
 * Commits a change that only appends, as most do, with one plain statement and half the work of `commit_changes`.
 * Null when it wrote nothing, because the change needs more or is refused; `commit_changes` then finds out which.
 */
function commitOne(database: Database): (addressed: Addressed) => Promise<CommitOutcome | null> {
  const statements = new Map<string, Statement>()
  const statementFor = (shape: Shape): Statement => {
    const { hasTime, hasAgent, hasKey, takesLease, endsTurn, terminating } = shape
    const guards = `${hasTime ? '_at' : ''}${hasAgent ? '_by' : ''}${hasKey ? '_keyed' : ''}`
    const name = `commit_one${guards}${takesLease ? '_leased' : ''}${endsTurn ? '_ends' : ''}${terminating === null ? '' : terminating ? '_cancels' : '_over'}`
    const known = statements.get(name) ?? { name, text: textFor(database.schema, shape) }
    statements.set(name, known)
    return known
  }
  return async ({ tenant, id, change }) => {
    if (!isPlain(change)) return null
    const { key, expectedAt, expectedAgent, acquires } = change
    const shape = {
      hasKey: key !== null,
      hasTime: expectedAt !== null,
      hasAgent: expectedAgent !== null,
      takesLease: acquires !== null,
      terminating: passesAfter(change.events),
      endsTurn: acquires === null && !change.releasesLease && change.events.some(({ type }) => type === 'turn_ended'),
    }
    const statement = statementFor(shape)
    const [made] = await database.run<Made>(statement, valuesOf(tenant, id, change), 'reject').catch(noneIfKeyIsTaken)
    if (!made) return null
    const { seq, at, epoch } = made
    return { type: 'ok', seq, at, ...(acquires === null || epoch === null ? {} : { epoch }) }
  }
}

type Made = { readonly seq: number; readonly at: number; readonly epoch: number | null }

/** Another process inserted the same key while this statement waited. */
function noneIfKeyIsTaken(error: unknown): Made[] {
  if (isDuplicate(error)) return []
  throw error
}

/** Only events, a key, the cached state, a wake-up and the lease. An empty log may have to be created, so it does not qualify. */
function isPlain(change: PreparedChange): boolean {
  const { expectedSeq, needsFree, calls, resolve, blobs, wake, releasesLease, acquires } = change
  const { status: _, fsmState: __, idleSeq: ___, ...seldom } = change.attrs
  return (
    expectedSeq !== 0 &&
    !needsFree &&
    calls.length + resolve.length + blobs.length + Object.keys(seldom).length === 0 &&
    wake.type !== 'expiry' &&
    !(releasesLease && acquires) &&
    !(acquires && isWithin(acquires.limits))
  )
}

function valuesOf(tenant: string, id: string, change: PreparedChange): unknown[] {
  const { expectedSeq, expectedAt, expectedAgent, epoch, key, digest, acquires, attrs, wake, releasesLease, events } =
    change
  return [
    ...[tenant, id, expectedSeq, epoch, attrs.status ?? null, attrs.fsmState ?? null],
    ...[wake.type, wake.type === 'in' ? wake.ms : null],
    events.length,
    arrayLiteral(events, ({ type }) => type),
    arrayLiteral(events, ({ content }) => content),
    attrs.idleSeq ?? null,
    ...(acquires ? [acquires.holder, acquires.ttlMs] : [releasesLease]),
    ...(key === null ? [] : [key, digest]),
    ...(expectedAt === null ? [] : [expectedAt]),
    ...(expectedAgent === null ? [] : [expectedAgent]),
  ]
}

/**
 * Postgres checks the row again once it has locked it, so a writer that waited for another is refused by what the other wrote. Keys are checked as they were
 * before the wait; if both inserted the same key, the insert is refused.
 */
function textFor(schema: string, { hasKey, hasTime, hasAgent, takesLease, endsTurn, terminating }: Shape): string {
  let last = 12
  const next = (): string => {
    last += 1
    return `$${last}`
  }
  const lease = takesLease ? takenLease(schema, next(), next()) : { set: keptLease(next()), where: '' }
  const key = hasKey ? { name: next(), digest: next() } : null
  const ofConversation = 'tenant = $1 AND conversation_id = $2'
  return `
    WITH made AS (
      UPDATE ${schema}.conversations c SET
        last_seq = c.last_seq + $9::integer,
        status = coalesce($5::text, c.status),
        fsm_state = coalesce($6::text, c.fsm_state),
        idle_seq = coalesce($12::bigint, c.idle_seq),
        wake_at = CASE $7::text WHEN 'in' THEN ${nowMs} + $8::bigint WHEN 'clear' THEN NULL ELSE c.wake_at END,
        is_dormant = c.is_dormant AND $7::text <> 'in',
        updated_at = ${nowMs},
        ${endsTurn ? 'lapsed = NULL,' : ''}
        ${terminating === null ? '' : `terminating = ${terminating},`}
        ${lease.set}
      WHERE c.tenant = $1 AND c.id = $2 AND ($3::bigint IS NULL OR c.last_seq = $3::bigint) AND ($4::bigint IS NULL OR c.epoch = $4::bigint)
        ${lease.where}
        ${key ? `AND NOT EXISTS (SELECT FROM ${schema}.commit_keys WHERE ${ofConversation} AND key = ${key.name})` : ''}
        ${hasTime ? `AND EXISTS (SELECT FROM ${schema}.events WHERE ${ofConversation} AND seq = $3 AND at = ${next()})` : ''}
        ${hasAgent ? `AND c.agent = ${next()}` : ''}
      RETURNING c.last_seq AS seq, c.updated_at AS at, c.epoch
    ), appended AS (
      INSERT INTO ${schema}.events (tenant, conversation_id, seq, at, type, content)
        SELECT $1, $2, made.seq - $9::integer + e.position, made.at, e.type, e.content
        FROM made, unnest($10::text[], $11::text[]) WITH ORDINALITY e (type, content, position)
    ), keyed AS (
      ${key ? keyInsert(schema, key, takesLease) : 'SELECT'}
    )
    SELECT seq, at, epoch FROM made`
}

/** Stored with the epoch it got, so that a repeat returns the same epoch. */
const keyInsert = (
  schema: string,
  key: { readonly name: string; readonly digest: string },
  takesLease: boolean,
): string => `
      INSERT INTO ${schema}.commit_keys (tenant, conversation_id, key, digest, seq, epoch)
        SELECT $1, $2, ${key.name}, ${key.digest}, made.seq, ${takesLease ? 'made.epoch' : 'NULL'} FROM made`

/** A conversation that is paused or has lapses is left to `commit_changes`. */
const takenLease = (
  schema: string,
  holder: string,
  ttlMs: string,
): { readonly set: string; readonly where: string } => ({
  set: `holder = ${holder}, epoch = nextval('${schema}.epochs'), leased_until = ${nowMs} + ${ttlMs}::bigint, claimed_at = ${nowMs}, lapsed = NULL, account = NULL`,
  where: `AND coalesce(c.leased_until, 0) <= ${nowMs} AND ${lapsedAfter(holder, nowMs)} IS NULL AND ${isNotPaused(schema)}`,
})

const keptLease = (releases: string): string =>
  ['holder', 'epoch', 'leased_until']
    .map((column) => `${column} = CASE WHEN NOT ${releases}::boolean THEN c.${column} END`)
    .join(', ')
