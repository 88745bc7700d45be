import type { CommitOutcome, PreparedChange } from '../driver.ts'
import { judgeClaim, type StoredLease } from '../lease.ts'
import { passesAfter, type SlotLimit, type SlotLimits } from '../slots.ts'
import { type ConversationHead, createConversation, findConversation, updateConversation } from './conversations.ts'
import type { Database } from './database.ts'
import {
  appendEvents,
  type CallHead,
  endCall,
  findCall,
  moveDeadline,
  pendingIds,
  timeOf,
  writeCall,
} from './events.ts'
import { isDeleted } from './fork-and-delete.ts'
import { leaseIn, nextEpoch, setLease } from './leases.ts'
import { referToBlobs } from './records.ts'
import { limitReached } from './slots.ts'
import { pauseOf } from './steering.ts'

/** Must run inside a transaction. Decides by reading only, so that a refused change leaves no trace in its group. */
export function commitChange(db: Database, tenant: string, id: string, change: PreparedChange): CommitOutcome {
  const now = Date.now()
  const head = findConversation(db, tenant, id)
  const settled = refuse(db, tenant, id, head, change, now)
  if (settled) return settled.type === 'ok' ? withLeaseOfFirstTime(db, settled, head, change, now) : settled
  const lastSeq = head?.lastSeq ?? 0
  const seq = lastSeq + change.events.length
  const agent = change.attrs.agent ?? head?.agent ?? null
  // Asked only where the change wants a lease.
  const isPaused = change.acquires !== null && pauseOf(db, { tenant, id, agent }) !== null
  const { lease, epoch, limited } = leaseAfter(db, tenant, head, isPaused ? { ...change, acquires: null } : change, now)
  const cid = head ? head.cid : createConversation(db, tenant, id, change, now)
  if (head) updateConversation(db, head, change, lease, now)
  else if (typeof lease === 'object') setLease(db, cid, lease)
  appendEvents(db, cid, lastSeq, change.events, now)
  if (change.key !== null) {
    const insert = 'INSERT INTO keys (cid, key, seq, digest, epoch) VALUES (?, ?, ?, ?, ?)'
    db.run(insert, cid, change.key, seq, change.digest, epoch)
  }
  for (const { callId, status, result, eventIndex } of change.resolve) {
    endCall(db, tenant, callId, { status, result, seq: eventIndex === null ? null : lastSeq + 1 + eventIndex }, now)
  }
  for (const call of change.calls) writeCall(db, tenant, cid, call, now)
  if (change.deadline) moveDeadline(db, tenant, change.deadline, now)
  if (change.withdrawsFrom !== null)
    db.run('DELETE FROM summaries WHERE cid = ? AND to_seq >= ?', cid, change.withdrawsFrom)
  referToBlobs(db, tenant, cid, change.blobs, lastSeq + 1)
  if (epoch !== null) return { type: 'ok', seq, at: now, epoch }
  return limited ? { type: 'ok', seq, at: now, limited } : { type: 'ok', seq, at: now }
}

/** For a known key: the epoch of the lease that the first attempt took, while this holder still has it. */
function withLeaseOfFirstTime(
  db: Database,
  outcome: Extract<CommitOutcome, { type: 'ok' }>,
  head: ConversationHead | undefined,
  { key, acquires }: PreparedChange,
  now: number,
): CommitOutcome {
  const lease = head ? leaseIn(head) : null
  if (!head || !lease || key === null || lease.holder !== acquires?.holder) return outcome
  const epoch = findKey(db, head.cid, key)?.epoch ?? null
  if (epoch === null || lease.epoch !== epoch) return outcome
  setLease(db, head.cid, { ...lease, until: now + acquires.ttlMs })
  return { ...outcome, epoch }
}

/** `limited`: the limit that kept the change from taking the lease. */
type LeaseAfter = {
  readonly lease: StoredLease | 'none' | 'as it is'
  readonly epoch: number | null
  readonly limited?: SlotLimit
}

/** What happens to the lease, and the epoch of the one that is taken with the change. */
function leaseAfter(
  db: Database,
  tenant: string,
  head: ConversationHead | undefined,
  { acquires, releasesLease, events, attrs }: PreparedChange,
  now: number,
): LeaseAfter {
  const before = head && !releasesLease ? leaseIn(head) : null
  let limited: SlotLimit | null = null
  if (acquires && !(before && before.until > now)) {
    const passes = (passesAfter(events) ?? head?.passes === 1) || Boolean(attrs.childOf) || attrs.kind === 'flow'
    const row = { cid: head?.cid ?? null, tenant, agent: attrs.agent ?? head?.agent ?? null }
    const reached = (limits: SlotLimits) => (passes ? null : limitReached(db, row, limits, now))
    const { outcome, lease } = judgeClaim(before, { ...acquires, epoch: () => nextEpoch(db), reached }, now)
    if (lease) return { lease, epoch: outcome.type === 'taken' ? outcome.epoch : null }
    limited = outcome.type === 'limited' ? outcome.limit : null
  }
  const why = limited ? { limited } : {}
  if (releasesLease) return { lease: 'none', epoch: null, ...why }
  const forgetsLapses = before && before.lapsed.length > 0 && events.some(({ type }) => type === 'turn_ended')
  return { lease: forgetsLapses ? { ...before, lapsed: [] } : 'as it is', epoch: null, ...why }
}

/** The answer when nothing must be written; null when the change can be made. */
function refuse(
  db: Database,
  tenant: string,
  id: string,
  head: ConversationHead | undefined,
  change: PreparedChange,
  now: number,
): CommitOutcome | null {
  const lastSeq = head?.lastSeq ?? 0
  if (head && change.key !== null) {
    const earlier = findKey(db, head.cid, change.key)
    if (earlier) return earlier.digest === change.digest ? { type: 'ok', seq: earlier.seq } : { type: 'key_reused' }
  }
  if (change.epoch !== null && head?.leaseEpoch !== change.epoch) return { type: 'epoch', lastSeq }
  if (change.needsFree && head && isOwned(db, head, change, now)) return { type: 'owned' }
  if (change.expectedSeq !== null && change.expectedSeq !== lastSeq) return { type: 'seq', lastSeq }
  if (head && change.expectedAt !== null && timeOf(db, head.cid, lastSeq) !== change.expectedAt) {
    return { type: 'seq', lastSeq }
  }
  if (change.expectedAgent !== null && head?.agent !== change.expectedAgent) return { type: 'seq', lastSeq }
  for (const { callId, round, onlyWhenDue } of change.resolve) {
    const call = findCall(db, tenant, callId)
    const isDue = call !== undefined && call.expiresAt !== null && call.expiresAt <= now
    if (!isOpen(call, head, round) || (onlyWhenDue && !isDue)) return { type: 'stale', lastSeq, callId, round }
  }
  if (change.deadline) {
    const { callId, round } = change.deadline
    if (!isOpen(findCall(db, tenant, callId), head, round)) return { type: 'stale', lastSeq, callId, round }
  }
  if (!head && !change.creates) return { type: 'missing' }
  for (const { id: callId } of change.calls) {
    const call = findCall(db, tenant, callId)
    if (call && call.cid !== head?.cid) return { type: 'call_elsewhere', callId }
  }
  if (change.seeds && lastSeq === 0 && isDeleted(db, tenant, id)) return { type: 'deleted' }
  return null
}

function isOpen(call: CallHead | undefined, head: ConversationHead | undefined, round: number): boolean {
  return call !== undefined && call.cid === head?.cid && call.status === 'pending' && call.round === round
}

function isOwned(db: Database, head: ConversationHead, { resolve }: PreparedChange, now: number): boolean {
  if ((head.leaseUntil ?? 0) > now) return true
  return pendingIds(db, head.cid).some((pending) => !resolve.some(({ callId }) => callId === pending))
}

type KeyRow = { readonly seq: number; readonly digest: string | null; readonly epoch: number | null }

function findKey(db: Database, cid: number, key: string): KeyRow | undefined {
  return db.get('SELECT seq, digest, epoch FROM keys WHERE cid = ? AND key = ?', cid, key)
}
