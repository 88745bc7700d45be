import pg from 'pg'
import { freshDatabase } from '../../setup/fresh-database.ts'
import { startPostgres } from '../../setup/start-postgres.ts'
import { openStore } from '../harness/target.ts'
import type { Finding } from '../harness/verdict.ts'
import { everyWrite } from '../workload/every-write.ts'
import { unsyncedByDefault } from './unsynced-server.ts'

/**
 * The server has been told not to wait for its disk. A write ends behind the place where the log stood before it, so when it is answered and
 * the disk has not come past that place, no write has waited for it.
 */
export async function flushOrder({ rounds }: { readonly rounds: number }): Promise<Finding> {
  const server = await startPostgres({ settings: unsyncedByDefault })
  const url = await freshDatabase(server.url)
  const observer = new pg.Client(url)
  const store = await openStore({ store: 'postgres', url })
  try {
    await observer.connect()
    const violations: string[] = []
    let answers = 0
    for (let round = 0; round < rounds; round++) {
      for (const { commit, run } of everyWrite(store, `flush${round}`)) {
        const before = await writtenUpTo(observer)
        await run()
        answers += 1
        if (!(await isOnDiskPast(observer, before))) violations.push(`${commit} was answered before it was on disk`)
      }
    }
    const isWeak = (await settingOf(observer, 'synchronous_commit')) === 'off'
    const missing = isWeak ? [] : ['the server waits for its disk by itself']
    return { violations, notExercised: missing, counts: { answers } }
  } finally {
    await store.close()
    await observer.end()
    await server.destroy()
  }
}

async function writtenUpTo(observer: pg.Client): Promise<string> {
  return (await observer.query<{ lsn: string }>('SELECT pg_current_wal_insert_lsn() AS lsn')).rows[0]!.lsn
}

async function isOnDiskPast(observer: pg.Client, lsn: string): Promise<boolean> {
  const question = { text: 'SELECT pg_current_wal_flush_lsn() > $1::pg_lsn AS "isPast"', values: [lsn] }
  return (await observer.query<{ isPast: boolean }>(question)).rows[0]!.isPast
}

async function settingOf(observer: pg.Client, name: string): Promise<string> {
  return (await observer.query<{ value: string }>('SELECT current_setting($1) AS value', [name])).rows[0]!.value
}
