import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import type { Target } from '../harness/target.ts'

const longAgo = 3_600_000

/** Has the leases of a process that is dead lapse now, so that they may be long while it lives and nobody has to wait for their end. */
export async function lapseLeases(target: Target): Promise<void> {
  if (target.store === 'sqlite') {
    const db = new DatabaseSync(target.path, { timeout: 10_000 })
    db.exec(`UPDATE conversations SET lease_until = lease_until - ${longAgo} WHERE lease_holder IS NOT NULL`)
    db.close()
    return
  }
  const client = new pg.Client(target.url)
  await client.connect()
  try {
    await client.query(
      `UPDATE perdure.conversations SET leased_until = leased_until - ${longAgo} WHERE holder IS NOT NULL`,
    )
  } finally {
    await client.end()
  }
}
