import type { CommitOutcome } from '../driver.ts'
import { commitOne } from './commit-one.ts'
import { type Addressed, commitQuery } from './commit-query.ts'
import type { Database, Query } from './database.ts'

/** `settings`: nothing was written, because the conversation has settings to merge with. */
export type BatchOutcome = CommitOutcome | { readonly type: 'settings' }

export function commitBatch(database: Database): (batch: readonly Addressed[]) => Promise<BatchOutcome[]> {
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

/** One change inside the transaction of the caller, who has merged its settings with those it has locked. */
export async function commitMerged(
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
  readonly outcome: BatchOutcome['type'] | 'known' | 'leased'
  /** For `known` that of the first time; for a refusal the log's last; for `leased`, which follows an `ok`, the epoch. */
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
    if (row.outcome !== 'leased') outcomes[index] = outcomeOf({ ...row, outcome: row.outcome })
    else if (made?.type === 'ok') outcomes[index] = { ...made, epoch: row.seq }
  }
  return outcomes
}

type JudgedRow = OutcomeRow & { readonly outcome: Exclude<OutcomeRow['outcome'], 'leased'> }

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
    case 'settings':
      return { type: outcome }
  }
}
