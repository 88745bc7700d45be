import { uuidV7 } from '../../base/uuid-v7.ts'
import type { ForkOutcome, ForkRequest, StoredConversation, StoredEvent } from '../driver.ts'
import { planFork } from '../plan-fork.ts'
import { copyBlobRefs } from './blobs.ts'
import { insertCall, pendingCalls } from './calls.ts'
import { findConversation, getConversation, insertConversation } from './conversations.ts'
import type { Database } from './database.ts'
import { appendEvents, readEvents } from './events.ts'
import { latestSummary } from './summaries.ts'

/** Must run inside a transaction. Events are copied by the database; only those after the summary are read here. */
export function forkConversation(
  db: Database,
  tenant: string,
  id: string,
  newId: string,
  { at, agent }: ForkRequest,
): ForkOutcome {
  const conversation = getConversation(db, tenant, id)
  if (!conversation) return 'missing'
  if (findConversation(db, tenant, newId)) return 'exists'
  const { lastSeq } = conversation
  const end = at ?? lastSeq
  if (end > lastSeq) return { pastEnd: lastSeq }
  const now = Date.now()
  const plan = planFork({ ...readSource(db, tenant, conversation, end), agent }, newId, uuidV7)
  const fromCid = findConversation(db, tenant, id)!.cid
  const cid = insertConversation(db, tenant, newId, {
    ...plan.conversation,
    childOf: null,
    createdAt: now,
    wakeAt: null,
    isDormant: true,
  })
  copyRows(db, fromCid, cid, end)
  for (const { seq, content } of plan.replaced) {
    db.run('UPDATE events SET content = ? WHERE cid = ? AND seq = ?', content, cid, seq)
  }
  appendEvents(db, cid, end, plan.appended, now)
  for (const call of plan.calls) insertCall(db, tenant, cid, call)
  return 'ok'
}

function readSource(db: Database, tenant: string, conversation: StoredConversation, at: number) {
  const summary = latestSummary(db, tenant, conversation.id, at)
  const events: StoredEvent[] = readEvents(db, tenant, conversation.id, { after: summary?.toSeq ?? 0, before: at + 1 })
  return { conversation, summary, events, pending: pendingCalls(db, tenant, conversation.id), at }
}

function copyRows(db: Database, fromCid: number, toCid: number, upTo: number): void {
  db.run(
    `INSERT INTO events (cid, seq, at, type, content)
     SELECT ?, seq, at, type, content FROM events WHERE cid = ? AND seq <= ? ORDER BY seq`,
    toCid,
    fromCid,
    upTo,
  )
  db.run(
    `INSERT INTO summaries (cid, to_seq, from_seq, version, content, base)
     SELECT ?, to_seq, from_seq, version, content, base FROM summaries WHERE cid = ? AND to_seq <= ?`,
    toCid,
    fromCid,
    upTo,
  )
  copyBlobRefs(db, fromCid, toCid, upTo)
}
