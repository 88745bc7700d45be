import type {
  CommitOutcome,
  PreparedChange,
  PreparedDeadline,
  StoredAttrs,
  StoredCall,
  StoredCallWrite,
  Wake,
} from '../driver.ts'
import { type ClaimOutcome, judgeClaim } from '../lease.ts'
import { mergeSettings } from '../rows.ts'
import { passesAfter, type SlotLimit, type SlotLimits } from '../slots.ts'
import { type ConversationRow, eventTime, isLeased, newConversationRow, type TenantTables } from './memory-tables.ts'

/** What a commit needs beside the tables of its tenant. `reached`: the limit that keeps the row from being claimed. */
type Surroundings = {
  readonly now: number
  readonly nextEpoch: () => number
  readonly reached: (row: ConversationRow) => (limits: SlotLimits) => SlotLimit | null
}

/** Checks first, then writes. It runs synchronously, so nothing can come between. */
export function commitChange(
  tables: TenantTables,
  id: string,
  change: PreparedChange,
  { now, nextEpoch, reached }: Surroundings,
  isPaused: (agent: string | null) => boolean,
): CommitOutcome {
  const known = tables.conversations.get(id)
  const refusal = refuse(tables, id, known, change, now)
  if (refusal) return refusal.type === 'ok' ? withLeaseOfFirstTime(refusal, known, change, now) : refusal
  const row = known ?? newConversationRow(id, now)
  // Before anything is written: damaged settings cannot be merged.
  const attrs = merged(row, change.attrs)
  tables.conversations.set(id, row)
  const firstSeq = row.events.length + 1
  const at = eventTime(tables, id, now)
  for (const { type, content } of change.events) {
    row.events.push({ seq: row.events.length + 1, at, type, content })
  }
  const seq = row.events.length
  for (const { callId, status, result, eventIndex } of change.resolve) {
    const resolvedSeq = eventIndex === null ? null : firstSeq + eventIndex
    tables.calls.set(callId, { ...tables.calls.get(callId)!, status, result, resolvedAt: at, resolvedSeq })
  }
  for (const call of change.calls) writeCall(tables, row, call, at)
  if (change.deadline) moveDeadline(tables, change.deadline, at)
  if (change.withdrawsFrom !== null) deleteSummaries(row, change.withdrawsFrom)
  for (const hash of change.blobs) referToBlob(tables, hash, id, firstSeq)
  writeAttrs(tables, row, attrs, now)
  wakeRow(row, change.wake, now)
  if (change.releasesLease) row.lease = null
  else if (row.lease && change.events.some(({ type }) => type === 'turn_ended'))
    row.lease = { ...row.lease, lapsed: [] }
  row.isTerminating = passesAfter(change.events) ?? row.isTerminating
  const claim = isPaused(row.columns.agent) ? null : takeLease(row, change, { now, nextEpoch, reached })
  const epoch = claim?.type === 'taken' ? claim.epoch : null
  if (change.key !== null) row.keys.set(change.key, { seq, digest: change.digest, epoch })
  if (epoch !== null) return { type: 'ok', seq, at, epoch }
  return claim?.type === 'limited' ? { type: 'ok', seq, at, limited: claim.limit } : { type: 'ok', seq, at }
}

/** What becomes of the claim that comes with the change; null when there is none to make. */
function takeLease(
  row: ConversationRow,
  { acquires }: PreparedChange,
  { now, nextEpoch, reached }: Surroundings,
): ClaimOutcome | null {
  if (!acquires || isLeased(row, now)) return null
  const claim = { ...acquires, epoch: nextEpoch, reached: reached(row) }
  const { outcome, lease } = judgeClaim(row.lease, claim, now)
  row.lease = lease ?? row.lease
  return outcome
}

/** For a known key: the epoch of the lease that the first attempt took, while this holder still has it. */
function withLeaseOfFirstTime(
  outcome: Extract<CommitOutcome, { type: 'ok' }>,
  row: ConversationRow | undefined,
  { key, acquires }: PreparedChange,
  now: number,
): CommitOutcome {
  const epoch = row?.keys.get(key ?? '')?.epoch ?? null
  if (!row?.lease || !acquires || row.lease.epoch !== epoch || row.lease.holder !== acquires.holder) return outcome
  row.lease = { ...row.lease, until: now + acquires.ttlMs }
  return { ...outcome, epoch }
}

function refuse(
  tables: TenantTables,
  id: string,
  row: ConversationRow | undefined,
  change: PreparedChange,
  now: number,
): CommitOutcome | null {
  const lastSeq = row?.events.length ?? 0
  const earlier = change.key === null ? undefined : row?.keys.get(change.key)
  if (earlier) return earlier.digest === change.digest ? { type: 'ok', seq: earlier.seq } : { type: 'key_reused' }
  if (change.epoch !== null && row?.lease?.epoch !== change.epoch) return { type: 'epoch', lastSeq }
  if (change.needsFree && row && (isLeased(row, now) || hasOtherPending(tables, row, change.resolve)))
    return { type: 'owned' }
  if (change.expectedSeq !== null && change.expectedSeq !== lastSeq) return { type: 'seq', lastSeq }
  if (change.expectedAt !== null && row?.events.at(-1)?.at !== change.expectedAt) return { type: 'seq', lastSeq }
  if (change.expectedAgent !== null && row?.columns.agent !== change.expectedAgent) return { type: 'seq', lastSeq }
  for (const { callId, round, onlyWhenDue } of change.resolve) {
    const call = tables.calls.get(callId)
    const isDue = call !== undefined && call.expiresAt !== null && call.expiresAt <= now
    if (!isOpen(call, id, round) || (onlyWhenDue && !isDue)) return { type: 'stale', lastSeq, callId, round }
  }
  if (change.deadline) {
    const { callId, round } = change.deadline
    if (!isOpen(tables.calls.get(callId), id, round)) return { type: 'stale', lastSeq, callId, round }
  }
  if (!row && !change.creates) return { type: 'missing' }
  for (const { id: callId } of change.calls) {
    const owner = tables.calls.get(callId)?.conversationId ?? id
    if (owner !== id) return { type: 'call_elsewhere', callId }
  }
  if (change.seeds && lastSeq === 0 && tables.tombstones.has(id)) return { type: 'deleted' }
  return null
}

function isOpen(call: StoredCall | undefined, id: string, round: number): boolean {
  return call?.conversationId === id && call.status === 'pending' && call.round === round
}

function hasOtherPending(
  tables: TenantTables,
  { callIds }: ConversationRow,
  resolve: PreparedChange['resolve'],
): boolean {
  const ended = new Set(resolve.map(({ callId }) => callId))
  return [...callIds].some((callId) => !ended.has(callId) && tables.calls.get(callId)!.status === 'pending')
}

function writeCall(tables: TenantTables, row: ConversationRow, write: StoredCallWrite, at: number): void {
  const { expiresInMs, ...columns } = write
  const { id } = row.columns
  const known = tables.calls.get(columns.id)
  row.callIds.add(columns.id)
  tables.calls.set(columns.id, {
    ...columns,
    meta: columns.meta ?? known?.meta ?? null,
    conversationId: id,
    expiresAt: expiresInMs === null ? null : at + expiresInMs,
    createdAt: known?.createdAt ?? at,
    resolvedAt: columns.status === 'pending' ? null : at,
    resolvedSeq: null,
  })
}

function moveDeadline(tables: TenantTables, { callId, expiresInMs }: PreparedDeadline, at: number): void {
  const expiresAt = expiresInMs === null ? null : at + expiresInMs
  tables.calls.set(callId, { ...tables.calls.get(callId)!, expiresAt })
}

function deleteSummaries({ summaries }: ConversationRow, fromSeq: number): void {
  for (const toSeq of summaries.keys()) if (toSeq >= fromSeq) summaries.delete(toSeq)
}

function referToBlob(tables: TenantTables, hash: string, id: string, seq: number): void {
  const blob = tables.blobs.get(hash)
  if (!blob) return
  if (!blob.references.has(id)) blob.references.set(id, seq)
  blob.pins = Math.max(0, blob.pins - 1)
}

function merged(row: ConversationRow, attrs: StoredAttrs): StoredAttrs {
  if (attrs.settings === undefined) return attrs
  return { ...attrs, settings: mergeSettings(row.columns.settings, attrs.settings) }
}

function writeAttrs(tables: TenantTables, row: ConversationRow, attrs: StoredAttrs, now: number): void {
  const { childOf, idleSeq, owner: given, ...columns } = attrs
  const inherited = childOf ? tables.conversations.get(childOf)?.columns.owner : null
  const owner = row.columns.owner ?? inherited ?? given ?? null
  row.columns = { ...row.columns, ...columns, owner, updatedAt: now }
  if (idleSeq !== undefined) row.idleSeq = idleSeq
  if (childOf !== undefined) row.childOf = childOf
}

function wakeRow(row: ConversationRow, wake: Wake, now: number): void {
  switch (wake.type) {
    case 'in':
      row.wakeAt = now + wake.ms
      row.isDormant = false
      return
    case 'expiry':
      if (row.isDormant) return
      row.wakeAt = now
      row.columns = { ...row.columns, status: 'active' }
      return
    case 'clear':
      row.wakeAt = null
      return
    case 'keep':
      return
  }
}
