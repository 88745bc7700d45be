import type { Database } from './database.ts'

export function putSnapshot(db: Database, tenant: string, id: string, snapshot: string): void {
  db.run(
    `INSERT INTO snapshots (tenant, id, snapshot) VALUES (?, ?, ?)
     ON CONFLICT (tenant, id) DO UPDATE SET snapshot = excluded.snapshot`,
    tenant,
    id,
    snapshot,
  )
}

export function getSnapshot(db: Database, tenant: string, id: string): string | null {
  const sql = 'SELECT snapshot FROM snapshots WHERE tenant = ? AND id = ?'
  return db.get<{ snapshot: string }>(sql, tenant, id)?.snapshot ?? null
}
