import type { Driver } from '../../store/driver.ts'
import type { Database } from './database.ts'

export function blobs(database: Database): Pick<Driver, 'putBlob' | 'getBlob'> {
  const { schema } = database
  const put = {
    name: 'put_blob',
    text: `INSERT INTO ${schema}.blobs AS b (tenant, hash, bytes, media_type, pins) VALUES ($1, $2, $3, $4, 1)
      ON CONFLICT (tenant, hash) DO UPDATE SET pins = b.pins + 1`,
  }
  const get = {
    name: 'blob',
    text: `SELECT bytes, media_type AS "mediaType" FROM ${schema}.blobs WHERE tenant = $1 AND hash = $2`,
  }
  return {
    async putBlob(tenant, hash, bytes, mediaType) {
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      await database.run(put, [tenant, hash, buffer, mediaType])
    },
    async getBlob(tenant, hash) {
      const [row] = await database.run<{ bytes: Buffer; mediaType: string }>(get, [tenant, hash])
      return row ? { bytes: new Uint8Array(row.bytes), mediaType: row.mediaType } : null
    },
  }
}
