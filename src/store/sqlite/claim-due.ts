import { type ClaimedRow, DueChoice, type PreparedClaim } from '../claim-due.ts'
import { FairSearch } from '../fair-search.ts'
import type { ConversationRef } from '../records.ts'
import { getConversation } from './conversations.ts'
import type { Database } from './database.ts'
import { findDue } from './find-due.ts'
import { claimLease } from './leases.ts'

/** Must run inside a transaction that may write. */
export function claimDue(db: Database, search: FairSearch, claim: PreparedClaim): ClaimedRow[] {
  const { holder, ttlMs, limit } = claim
  const choice = new DueChoice(claim)
  const claimed: ClaimedRow[] = []
  for (const { tenant, id } of dueFor(db, search, claim, choice)) {
    if (claimed.length >= limit) break
    const row = choice.asksFor(tenant, id) ? getConversation(db, tenant, id) : null
    if (!row || !choice.takes(tenant, row)) continue
    const outcome = claimLease(db, tenant, id, holder, ttlMs, choice.terms(tenant, row))
    if (outcome.type !== 'taken' && outcome.type !== 'quarantined') continue
    const { epoch, lapses } = outcome.type === 'taken' ? outcome : { epoch: 0, lapses: 0 }
    claimed.push(choice.claimed({ tenant, type: outcome.type, epoch, lapses, row }))
  }
  return claimed
}

/** Whether a claim would find anything. A process that has nothing to do must not write: others would wait for it. */
export function mayClaim(db: Database, claim: PreparedClaim): boolean {
  const choice = new DueChoice(claim)
  return db.snapshot(() =>
    // With a search of its own: the place where the next claim begins must not move.
    dueFor(db, new FairSearch(), claim, choice).some(({ tenant, id }) => {
      const row = choice.asksFor(tenant, id) ? getConversation(db, tenant, id) : null
      return row !== null && choice.takes(tenant, row)
    }),
  )
}

/** Of those that are asked for, each claim decides whether there is a slot. */
function dueFor(
  db: Database,
  search: FairSearch,
  { agents, limits, only }: PreparedClaim,
  choice: DueChoice,
): ConversationRef[] {
  return findDue(db, search, { agents, ...choice.query, ...(limits && !only ? { limits } : {}) })
}
