import { type ClaimedRow, DueChoice, type PreparedClaim } from '../claim-due.ts'
import { getConversation } from './conversations.ts'
import type { Database } from './database.ts'
import { claimLease, dueIn } from './leases.ts'

/** Must run inside a transaction that may write. */
export function claimDue(db: Database, claim: PreparedClaim): ClaimedRow[] {
  const { holder, ttlMs, agents, limit } = claim
  const choice = new DueChoice(claim)
  const claimed: ClaimedRow[] = []
  for (const { tenant, id } of dueIn(db, { agents, ...choice.query })) {
    if (claimed.length >= limit) break
    const row = choice.asksFor(tenant, id) ? getConversation(db, tenant, id) : null
    if (!row || !choice.takes(tenant, row)) continue
    const outcome = claimLease(db, tenant, id, holder, ttlMs, { suspects: choice.hasPlaceForSuspect })
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
    dueIn(db, { agents: claim.agents, ...choice.query }).some(({ tenant, id }) => {
      const row = choice.asksFor(tenant, id) ? getConversation(db, tenant, id) : null
      return row !== null && choice.takes(tenant, row)
    }),
  )
}
