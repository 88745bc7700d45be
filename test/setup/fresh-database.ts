import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** A new empty database on the server of `url`; returns its own connection string. */
export async function freshDatabase(url: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${name} STRATEGY file_copy`)
  } finally {
    await client.end()
  }
  const fresh = new URL(url)
  fresh.pathname = `/${name}`
  return fresh.href
}
