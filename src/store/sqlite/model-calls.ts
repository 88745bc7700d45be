import type { StoredModelCall } from '../driver.ts'
import { rowBytes } from '../fitting-rows.ts'
import type { ModelCallRange } from '../model-call.ts'
import { findConversation } from './conversations.ts'
import type { Database } from './database.ts'

export function putModelCall(db: Database, tenant: string, id: string, call: StoredModelCall): boolean {
  const conversation = findConversation(db, tenant, id)
  if (!conversation) return false
  db.run(
    `INSERT INTO model_calls (cid, turn_ref, at, latency_ms, summary_version, status, model, usage, evictions, rendered_context)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[conversation.cid, call.turnRef, call.at ?? Date.now(), call.latencyMs, call.summaryVersion, call.status],
    ...[call.model, call.usage, call.evictions, call.renderedContext],
  )
  return true
}

export function modelCalls(
  db: Database,
  tenant: string,
  id: string,
  { turnRef, from, contexts = true, ...bounds }: ModelCallRange,
): (StoredModelCall & { at: number })[] {
  return db.page<StoredModelCall & { at: number }>(
    `SELECT turn_ref AS turnRef, at, latency_ms AS latencyMs, summary_version AS summaryVersion, status, model, usage, evictions,
     ${contexts ? 'rendered_context' : 'NULL'} AS renderedContext FROM model_calls
     WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?)
     ${turnRef === undefined ? '' : 'AND turn_ref = ?'} ${from === undefined ? '' : 'AND turn_ref >= ?'}
     ORDER BY turn_ref, model_calls.id`,
    bounds,
    rowBytes.modelCall,
    ...[tenant, id, ...[turnRef, from].filter((ref) => ref !== undefined)],
  )
}

export function gcModelCalls(db: Database, tenant: string, id: string, ttlMs: number): number {
  return db.run(
    'DELETE FROM model_calls WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?) AND at < ?',
    tenant,
    id,
    Date.now() - ttlMs,
  )
}
