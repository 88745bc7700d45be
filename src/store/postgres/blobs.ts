import type { Driver } from '../driver.ts'
import type { Database } from './database.ts'

/** No value of Postgres has more. */
const mostBytes = 1024 * 1024 * 1024

export function blobs(database: Database): Pick<Driver, 'putBlob' | 'getBlob'> {
  const { schema } = database
  const put = {
    name: 'put_blob',
    text: `INSERT INTO ${schema}.blobs AS b (tenant, hash, bytes, media_type, pins) VALUES ($1, $2, $3, $4, 1)
      ON CONFLICT (tenant, hash) DO UPDATE SET pins = b.pins + 1`,
  }
  const found = `media_type AS "mediaType" FROM ${schema}.blobs WHERE tenant = $1 AND hash = $2`
  const get = { name: 'blob', text: `SELECT bytes, ${found}` }
  const getSlice = {
    name: 'blob_slice',
    text: `SELECT substring(bytes FROM least($3::bigint + 1, 2147483647)::int FOR $4::int) AS bytes, ${found}`,
  }
  return {
    async putBlob(tenant, hash, bytes, mediaType) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      await database.run(put, [tenant, hash, buffer, mediaType])
    },
    async getBlob(tenant, hash, slice) {
      const statement = slice ? getSlice : get
      const part = slice ? [slice.from, Math.min(slice.length, mostBytes)] : []
      const [row] = await database.run<{ bytes: Buffer; mediaType: string }>(statement, [tenant, hash, ...part])
      return row ? { bytes: new Uint8Array(row.bytes), mediaType: row.mediaType } : null
    },
  }
}
