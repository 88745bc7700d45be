import type { Driver } from '../driver.ts'
import type { Database } from './database.ts'

export function snapshots(database: Database): Pick<Driver, 'putSnapshot' | 'getSnapshot'> {
  const { schema } = database
  const put = {
    name: 'put_snapshot',
    text: `INSERT INTO ${schema}.snapshots (tenant, id, snapshot) VALUES ($1, $2, $3)
      ON CONFLICT (tenant, id) DO UPDATE SET snapshot = excluded.snapshot`,
  }
  const get = { name: 'snapshot', text: `SELECT snapshot FROM ${schema}.snapshots WHERE tenant = $1 AND id = $2` }
  return {
    async putSnapshot(tenant, id, snapshot) {
      await database.run(put, [tenant, id, snapshot])
    },
    async getSnapshot(tenant, id) {
      const [row] = await database.run<{ snapshot: string }>(get, [tenant, id])
      return row?.snapshot ?? null
    },
  }
}
