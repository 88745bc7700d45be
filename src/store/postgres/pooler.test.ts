import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { unsyncedByDefault } from '../../../test/faults/durability/unsynced-server.ts'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { findPgBouncer, type RunningPgBouncer, startPgBouncer } from '../../../test/setup/start-pgbouncer.ts'
import { type RunningPostgres, startPostgres } from '../../../test/setup/start-postgres.ts'
import { silentLogger } from '../../base/logger.ts'
import { claimDue } from '../../testing/conformance/claim-due.ts'
import { userMsg } from '../../testing/conformance/event-builders.ts'
import { expiry } from '../../testing/conformance/expiry.ts'
import { forkLog } from '../../testing/conformance/fork-log.ts'
import { keys } from '../../testing/conformance/refused-commits.ts'
import { hints } from '../../testing/conformance/reopening.ts'
import { createSuite } from '../../testing/conformance/suite.ts'
import { upkeep } from '../../testing/conformance/upkeep.ts'
import { testStore } from '../../testing/test-store.ts'
import type { Store } from '../store.ts'
import { postgresStore } from './postgres-store.ts'

/** Only on a machine that has PgBouncer: see CONTRIBUTING.md. */
const binary = findPgBouncer()

describe('options of a pooler', () => {
  const connectionString = 'postgres://localhost/none'
  test.each([
    [{ pooler: 'transaction' }, "'directConnectionString' must be the address"],
    [{ pooler: 'transaction', directConnectionString: '' }, "'directConnectionString' must be the address"],
    [{ directConnectionString: connectionString }, "'pooler' must be 'transaction'"],
    [{ pooler: 'session', directConnectionString: connectionString }, "'pooler' must be 'transaction'"],
  ])('%o are refused', (options, message) => {
    expect(() => postgresStore({ connectionString, ...(options as object) })).toThrow(message)
  })
})

/** For the tests of one block: a server that crashes must not have the tables of hundreds of others to recover. */
function pooled() {
  let server: RunningPostgres
  let bouncer: RunningPgBouncer
  const databases = new WeakMap<Store, string>()

  beforeAll(async () => {
    server = await startPostgres({ settings: unsyncedByDefault })
    bouncer = await startPgBouncer(binary!, server.url)
  })

  afterAll(async () => {
    await bouncer?.destroy()
    await server?.destroy()
  })

  let schemas = 0
  const open = (schema = `s${++schemas}`, audit = true): Store => {
    const addresses = {
      connectionString: bouncer.url,
      pooler: 'transaction',
      directConnectionString: server.url,
    } as const
    const store = postgresStore({ ...addresses, schema, audit, max: 4, logger: silentLogger })
    databases.set(store, schema)
    return store
  }
  return { open, schemaOf: (store: Store) => databases.get(store), server: () => server, bouncer: () => bouncer }
}

describe.skipIf(binary === null)('through PgBouncer in transaction mode', () => {
  const { open, schemaOf } = pooled()
  const underTest = {
    create: () => open(),
    createWithoutAudit: () => open(undefined, false),
    openAnother: (store: Store) => open(schemaOf(store)),
    destroy: (store: Store) => store.close(),
  }

  if (process.env['POOLER'] === 'all') testStore({ describe, test, expect, afterAll }, underTest)
  else {
    // What concerns statements, transactions, settings and hints.
    const suite = createSuite({ describe, test, expect, afterAll }, underTest)
    for (const declare of [keys, claimDue, expiry, forkLog, upkeep, hints]) declare(suite)
  }
})

describe.skipIf(binary === null)('through PgBouncer, where something dies', () => {
  const { open, server, bouncer } = pooled()

  test('what was acknowledged is there after the server crashed, though it syncs nothing by itself', async () => {
    const store = open('crash')
    for (let n = 1; n <= 20; n++) expect(await store.appendEvent('chat', userMsg())).toBe(n)
    const claimed = store
      .putConversation('chat', { agent: 'support' })
      .then(() => store.claimDue({ holder: 'one', ttlMs: 60_000, agents: ['support'], limit: 1 }))
    expect(await claimed).toMatchObject([{ id: 'chat', lastSeq: 20 }])
    await server().stop('immediate')
    await server().restart()
    const other = open('crash')
    // The pooler finds the server again after a while.
    const events = () => other.streamEvents('chat').catch(() => null)
    expect(await vi.waitUntil(events, { timeout: 20_000, interval: 100 })).toHaveLength(20)
    expect(await other.claimLease('chat', 'two', 1_000)).toEqual({ type: 'held' })
    await Promise.all([store.close(), other.close()])
  })

  test('a pooler that dies is passed over: what was acknowledged is there, and work goes on', async () => {
    const store = open('dies')
    expect(await store.commit('chat', { events: [userMsg()], key: 'one' })).toMatchObject({ seq: 1 })
    const committing = Array.from({ length: 20 }, (_, n) => store.commit('chat', { events: [userMsg()], key: `k${n}` }))
    await bouncer().restart()
    const settled = await Promise.allSettled(committing)
    for (let n = 0; n < 20; n++) {
      // A key says what became of a commit whose answer was lost.
      const again = await store.commit('chat', { events: [userMsg()], key: `k${n}` })
      const first = settled[n]!
      if (first.status === 'fulfilled') expect(again).toMatchObject({ seq: (first.value as { seq: number }).seq })
    }
    expect(await store.streamEvents('chat')).toHaveLength(21)
    await store.close()
  })

  test('live text passes it by: a pooler neither delivers notifications nor takes settings back', async () => {
    const stores = [open('live'), open('live')] as const
    const heard: string[] = []
    const links = stores.map((store, n) => {
      let isUp = false
      const link = store.liveBus!.join({
        message: (_, text) => void heard.push(`${n} ${text}`),
        connected: () => void (isUp = true),
      })
      link.open()
      return { link, isUp: () => isUp }
    })
    await vi.waitUntil(() => links.every(({ isUp }) => isUp()), { timeout: 5_000 })
    for (let n = 0; n < 8; n++) expect(await links[0]!.link.send([{ to: null, text: `text ${n}` }])).toBe(true)
    await vi.waitUntil(() => heard.length >= 8, { timeout: 5_000 })
    expect(heard).toEqual(Array.from({ length: 8 }, (_, n) => `1 text ${n}`))
    await Promise.all(stores.map((store) => store.close()))
  })

  test('each transaction brings its own settings, and leaves none behind', async () => {
    const url = await freshDatabase(server().url)
    const through = new URL(bouncer().url)
    through.pathname = new URL(url).pathname
    const store = postgresStore({ connectionString: through.href, pooler: 'transaction', directConnectionString: url })
    await store.appendEvent('chat', userMsg())
    const { default: pg } = await import('pg')
    const client = new pg.Client(through.href)
    await client.connect()
    const { rows } = await client.query(
      `SELECT current_setting('synchronous_commit') AS sync, current_setting('enable_seqscan') AS scan, (SELECT count(*) FROM pg_prepared_statements)::int AS prepared`,
    )
    expect(rows).toEqual([{ sync: 'off', scan: 'on', prepared: 0 }])
    await client.end()
    await store.close()
  })
})
