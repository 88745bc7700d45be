import type { StoredSummary, SummaryOutcome } from '../driver.ts'
import { findConversation } from './conversations.ts'
import type { Database } from './database.ts'

export function putSummary(db: Database, tenant: string, id: string, summary: StoredSummary): SummaryOutcome {
  const conversation = findConversation(db, tenant, id)
  if (!conversation) return 'missing'
  const { toSeq, fromSeq, version, content, base } = summary
  if (toSeq > conversation.lastSeq) return { pastEnd: conversation.lastSeq }
  db.run(
    `INSERT INTO summaries (cid, to_seq, from_seq, version, content, base) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (cid, to_seq) DO UPDATE SET from_seq = excluded.from_seq, version = excluded.version,
     content = excluded.content, base = excluded.base`,
    ...[conversation.cid, toSeq, fromSeq, version, content, base],
  )
  return 'ok'
}

export function latestSummary(
  db: Database,
  tenant: string,
  id: string,
  upTo: number = Number.MAX_SAFE_INTEGER,
): StoredSummary | null {
  const summary = db.get<StoredSummary>(
    `SELECT from_seq AS fromSeq, to_seq AS toSeq, version, content, base FROM summaries
     WHERE cid = (SELECT cid FROM conversations WHERE tenant = ? AND id = ?) AND to_seq <= ?
     ORDER BY to_seq DESC LIMIT 1`,
    tenant,
    id,
    upTo,
  )
  return summary ?? null
}
