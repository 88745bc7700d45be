import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import type { Finding } from '../../src/upkeep/finding.ts'
import type { Repair } from '../../src/upkeep/repair-conversation.ts'
import { seededRandom } from '../faults/harness/seeded-random.ts'
import { type Dialect, derivedCorruptions } from './corruptions.ts'
import { liveIn } from './lived-in-store.ts'

type Bench = {
  store: Store
  readonly dialect: Dialect
  run(sql: string): Promise<void>
  /** Without expiry: a deadline that was corrupted must not end its call before anybody looks. */
  reopen(): Promise<void>
  close(): Promise<void>
}

describe.each([
  ['sqlite', onSqlite],
  ['postgres', onPostgres],
] as const)('a store whose derived rows were corrupted (%s)', (_, open) => {
  let bench: Bench
  let digest: string
  let callIds: { pending: string; ended: string }

  beforeAll(async () => {
    bench = await open()
    await liveIn(bench.store)
    await bench.reopen()
    const { store } = bench
    const [call] = await store.pendingToolCalls('waiting')
    const events = await store.streamEvents('answered')
    const [answered] = events.filter((event) => event.type === 'resolution')
    callIds = { pending: call!.id, ended: answered!.content.callId }
    digest = (await examineStore(store)).digest
  })
  afterAll(() => bench.close())

  test('has each corruption named, and is as before after the repair', { timeout: 180_000 }, async () => {
    const { store, run, dialect } = bench
    // The rules are the same on all stores: a part of them shows that the rows are reached on Postgres, too.
    const corruptions = derivedCorruptions(dialect, callIds).filter(
      (_, index, all) => dialect.name === 'sqlite' || index % 3 === 0 || index > all.length - 6,
    )
    for (const { what, code, id, sql } of corruptions) {
      await run(sql)
      const { findings, repairs, digest: after, faults } = await look(store)
      const named = findings.filter((finding) => finding.code === code)
      expect([what, named.length > 0, named.every((finding) => finding.isDerived)]).toEqual([what, true, true])
      const places = [...new Set(named.map(({ conversation }) => conversation))]
      if (id !== 'child') expect([what, places]).toEqual([what, [id]])
      expect([what, [...new Set(repairs.map(({ outcome }) => outcome))]]).toEqual([what, ['repaired']])
      expect([what, after, faults]).toEqual([what, digest, 0])
    }
    expect(corruptions.length).toBeGreaterThan(dialect.name === 'sqlite' ? 40 : 15)
  })

  test('has rows without an owner removed, also without a callback', async () => {
    const { store, run, dialect } = bench
    const [orphan] = derivedCorruptions(dialect, callIds).filter(({ code }) => code === 'orphaned_derived_rows')
    await run(orphan!.sql)
    expect(await examineStore(store)).toMatchObject({ faults: 1 })
    expect(await examineStore(store, { repair: true })).toMatchObject({ faults: 0, digest })
  })

  test('has all of them found and repaired at once, in any mixture', async () => {
    const { store, run, dialect } = bench
    const random = seededRandom(7)
    for (let round = 0; round < (dialect.name === 'sqlite' ? 4 : 1); round++) {
      const chosen = derivedCorruptions(dialect, callIds).filter(() => random.chance(0.3))
      // Two may name one row.
      for (const { sql } of chosen) await run(sql).catch(() => {})
      const repaired = await look(store)
      expect([round, repaired.digest, repaired.faults]).toEqual([round, digest, 0])
    }
  })
})

/** With a repair; what is found is told before it. */
async function look(store: Store) {
  const findings: Finding[] = []
  const repairs: Repair[] = []
  const options = {
    repair: true,
    onFinding: (found: Finding) => findings.push(found),
    onRepair: (done: Repair) => repairs.push(done),
  }
  return { ...(await examineStore(store, options)), findings, repairs }
}

async function onSqlite(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-upkeep-'))
  const path = join(folder, 'agents.db')
  const open = (expiry: boolean) => sqliteStore({ path, expiry, logger: silentLogger })
  const bench: Bench = {
    store: open(true),
    dialect: {
      name: 'sqlite',
      table: (name) => name,
      of: (id) => `cid = (SELECT cid FROM conversations WHERE tenant = 'default' AND id = '${id}')`,
      callId: 'call_id',
    },
    async run(sql) {
      const db = new DatabaseSync(path, { timeout: 5_000 })
      try {
        db.exec(sql)
      } finally {
        db.close()
      }
    },
    async reopen() {
      await bench.store.close()
      bench.store = open(false)
    },
    async close() {
      await bench.store.close()
      rmSync(folder, { recursive: true })
    },
  }
  return bench
}

async function onPostgres(): Promise<Bench> {
  const connectionString = inject('postgresUrl')
  const schema = `corrupted_${randomUUID().replaceAll('-', '')}`
  const open = (expiry: boolean) => postgresStore({ connectionString, schema, max: 4, expiry, logger: silentLogger })
  const client = new pg.Client(connectionString)
  await client.connect()
  const bench: Bench = {
    store: open(true),
    dialect: {
      name: 'postgres',
      table: (name) => `"${schema}".${name === 'keys' ? 'commit_keys' : name}`,
      of: (id) => `tenant = 'default' AND conversation_id = '${id}'`,
      callId: 'id',
    },
    async run(sql) {
      await client.query(sql)
    },
    async reopen() {
      await bench.store.close()
      bench.store = open(false)
    },
    async close() {
      await client.end()
      await bench.store.close()
    },
  }
  return bench
}
