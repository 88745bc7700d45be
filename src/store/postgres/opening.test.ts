import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { describe, expect, inject, test } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { silentLogger } from '../../base/logger.ts'
import { Database } from './database.ts'
import { postgresStore } from './index.ts'
import { knownVersion } from './migrate.ts'

const titled = { type: 'titled', content: { title: 'x' } } as const
const logger = silentLogger

async function query(connectionString: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connectionString)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** What is in the catalog about the schema, and each row with the transaction that wrote it. */
async function everything(connectionString: string): Promise<unknown[]> {
  const tables = await query(
    connectionString,
    "SELECT tablename FROM pg_tables WHERE schemaname = 'perdure' ORDER BY 1",
  )
  const rows = tables.map(({ tablename }) => `SELECT xmin::text, t::text FROM perdure.${tablename} t`)
  return await query(
    connectionString,
    `${rows.join(' UNION ALL ')}
     UNION ALL SELECT xmin::text, c::text FROM pg_class c WHERE relnamespace = 'perdure'::regnamespace
     UNION ALL SELECT xmin::text, p::text FROM pg_proc p WHERE pronamespace = 'perdure'::regnamespace ORDER BY 1, 2`,
  )
}

describe('migrations', () => {
  test('ten nodes may start at once on an empty database', async () => {
    const connectionString = await freshDatabase(inject('postgresUrl'))
    const stores = Array.from({ length: 10 }, () => postgresStore({ connectionString, max: 1, logger }))
    const seqs = await Promise.all(stores.map((store) => store.appendEvent('chat', titled)))
    expect(seqs.sort((left, right) => left - right)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    const applied = await query(connectionString, 'SELECT number FROM perdure.migrations ORDER BY number')
    expect(applied).toEqual([{ number: knownVersion }])
    await Promise.all(stores.map((store) => store.close()))
  })

  test('schemas of one database are separate', async () => {
    const connectionString = inject('postgresUrl')
    const [one, other] = ['opening_one', 'Opening_One'].map((schema) =>
      postgresStore({ connectionString, schema, logger }),
    )
    await one!.appendEvent('chat', titled)
    expect(await other!.getConversation('chat')).toBeNull()
    await Promise.all([one!.close(), other!.close()])
  })

  test('a schema that a newer version has migrated is refused', async () => {
    const connectionString = await freshDatabase(inject('postgresUrl'))
    const first = postgresStore({ connectionString, logger })
    await first.getConversation('chat')
    await first.close()
    await query(connectionString, 'INSERT INTO perdure.migrations VALUES (999, 0)')
    const second = postgresStore({ connectionString, logger })
    await expect(second.getConversation('chat')).rejects.toMatchObject({ code: 'schema_too_new', retryable: false })
    await second.close()
  })

  test('a database of Perdure 0.1 is refused and not changed, with the commands that move it', async () => {
    const connectionString = await freshDatabase(inject('postgresUrl'))
    const dump = gunzipSync(readFileSync('test/fixtures/0.1/stores/postgres-schema-20.sql.gz')).toString()
    // The lines for psql.
    await query(connectionString, dump.replaceAll(/^\\.*$/gm, ''))
    const before = await everything(connectionString)
    expect(before.length).toBeGreaterThan(400)
    const store = postgresStore({ connectionString, logger })
    const refused = {
      code: 'schema_too_old',
      retryable: false,
      message: expect.stringContaining('npx perdure export'),
    }
    await expect(store.getConversation('plain')).rejects.toMatchObject(refused)
    await expect(store.appendEvent('plain', titled)).rejects.toMatchObject(refused)
    await expect(store.upkeep!.schema()).rejects.toMatchObject(refused)
    await expect(store.upkeep!.migrate()).rejects.toMatchObject(refused)
    await store.close()
    expect(await everything(connectionString)).toEqual(before)
  })

  test('a database that cannot hold all text is refused', async () => {
    const server = inject('postgresUrl')
    await query(server, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0")
    const store = postgresStore({ connectionString: server.replace(/postgres$/, 'latin'), logger })
    await expect(store.getConversation('chat')).rejects.toThrow('LATIN1')
    await store.close()
  })
})

describe('options', () => {
  test.each(['', 'a-b', 'a"; DROP TABLE x; --', 'pg_mine', '1st', 'x'.repeat(49), 7])(
    'the schema %s is refused',
    (schema) => {
      const options = { connectionString: 'postgres://localhost/db', schema: schema as string }
      expect(() => postgresStore(options)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
    },
  )

  test.each([{ connectionString: '' }, { connectionString: 'postgres://localhost/db', max: 0 }])(
    '%o is refused',
    (options) => {
      expect(() => postgresStore(options)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
    },
  )

  test('the error for a wrong password contains only that it was wrong', async () => {
    const connectionString = inject('postgresUrl').replace(/:[^:@]*@/, ':wrong-secret@')
    const store = postgresStore({ connectionString, logger })
    const error = await store.getConversation('chat').catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'store_failed', ambiguous: false, retryable: false })
    expect(`${(error as Error).message} ${String((error as Error).cause)}`).not.toContain('wrong-secret')
    await store.close()
  })
})

describe('sessions', () => {
  test('a commit waits for the disk and sees what was committed, also where the server has other defaults', async () => {
    const connectionString = await freshDatabase(inject('postgresUrl'))
    const name = new URL(connectionString).pathname.slice(1)
    await query(connectionString, `ALTER DATABASE ${name} SET synchronous_commit = off`)
    await query(connectionString, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
    const waits = { connectTimeoutMs: 10_000, answerTimeoutMs: 20_000, migrateTimeoutMs: 60_000 }
    const database = new Database({ connectionString, schema: 'perdure', max: 1, logger, ...waits })
    const settings = await database.run(
      {
        name: 'settings',
        text: `SELECT current_setting('synchronous_commit') AS sync, current_setting('transaction_isolation') AS isolation`,
      },
      [],
    )
    expect(settings).toEqual([{ sync: 'on', isolation: 'read committed' }])
    await database.close()
  })
})
