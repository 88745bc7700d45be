import type { SQLInputValue } from 'node:sqlite'
import { quarantineHolder } from '../../claim.ts'
import type { Rebuilt } from '../../upkeep.ts'
import { insertCall } from '../calls.ts'
import { findConversation, getConversation } from '../conversations.ts'
import type { Database } from '../database.ts'
import { blobId } from './restore-rows.ts'

/** The seq is read from the events here, so that column does not exist. */
const columnNames = {
  kind: 'kind',
  status: 'status',
  fsmState: 'fsm_state',
  idleSeq: 'idle_seq',
  title: 'title',
  childOf: 'child_of',
  wakeAt: 'wake_at',
} as const

/** Must run inside a transaction. */
export function rebuild(db: Database, tenant: string, id: string, rebuilt: Rebuilt): 'ok' | 'moved' | 'held' {
  const { expected, columns, putCalls, removeCalls, bases, putBlobRefs, removeBlobRefs } = rebuilt
  const head = findConversation(db, tenant, id)
  const record = getConversation(db, tenant, id)
  if (!head || record?.lastSeq !== expected.lastSeq || record.updatedAt !== expected.updatedAt) return 'moved'
  const isHeld = head.leaseUntil !== null && head.leaseUntil > Date.now()
  if (isHeld && head.leaseHolder !== quarantineHolder) return 'held'
  const { cid } = head
  for (const [name, column] of Object.entries(columnNames)) {
    const value = columns[name as keyof typeof columnNames] as SQLInputValue | undefined
    if (value !== undefined) db.run(`UPDATE conversations SET ${column} = ? WHERE cid = ?`, value, cid)
  }
  for (const callId of [...removeCalls, ...putCalls.map((call) => call.id)]) {
    db.run('DELETE FROM calls WHERE tenant = ? AND call_id = ? AND cid = ?', tenant, callId, cid)
  }
  for (const call of putCalls) insertCall(db, tenant, cid, call)
  for (const { toSeq, base } of bases) {
    db.run('UPDATE summaries SET base = ? WHERE cid = ? AND to_seq = ?', base, cid, toSeq)
  }
  for (const hash of [...removeBlobRefs, ...putBlobRefs.map((ref) => ref.hash)]) {
    db.run('DELETE FROM blob_refs WHERE cid = ? AND bid = ?', cid, blobId(db, tenant, hash))
  }
  for (const { hash, firstSeq } of putBlobRefs) {
    const bid = blobId(db, tenant, hash)
    if (bid !== null) db.run('INSERT INTO blob_refs (cid, bid, first_seq) VALUES (?, ?, ?)', cid, bid, firstSeq)
  }
  return 'ok'
}
