import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { turnEnded } from '../../testing/conformance/event-builders.ts'
import type { Change, CommitResult } from '../change.ts'
import type { Store } from '../store.ts'
import { Database } from './database.ts'
import { postgresStore } from './index.ts'

const note = (data: string) => ({ type: 'note', content: { name: 'n', data, who: 'ann' } }) as const
const acquire = { holder: 'me', ttlMs: 60_000 }

let store: Store
let watcher: pg.Client
let locker: pg.Client
let count = 0

beforeAll(async () => {
  const connectionString = await freshDatabase(inject('postgresUrl'))
  store = postgresStore({ expiry: false, connectionString, max: 4 })
  watcher = new pg.Client(connectionString)
  await watcher.connect()
  locker = new pg.Client(connectionString)
  await locker.connect()
})

afterEach(() => vi.restoreAllMocks())

afterAll(async () => {
  await store.close()
  await watcher.end()
  await locker.end()
})

type Prepared = { readonly id: string; readonly epoch: number; readonly at: number }

/** A log of two events; the second one has a key. */
async function prepared(leasedBy: string | null): Promise<Prepared> {
  count += 1
  const id = `log-${String(count).padStart(3, '0')}`
  await store.appendEvent(id, note('one'))
  await store.putConversation(id, { agent: 'helper' })
  const second = await store.commit(id, { events: [note('two')], key: 'known' })
  const lease = leasedBy === null ? null : await store.acquireLease(id, leasedBy, 60_000)
  return { id, epoch: lease?.epoch ?? 0, at: second.ok ? second.at! : 0 }
}

async function rowsOf(id: string): Promise<unknown> {
  const conversation = await watcher.query(
    `SELECT status, fsm_state, last_seq, wake_at IS NULL AS rests, is_dormant, holder, epoch IS NULL AS free, leased_until IS NULL AS unleased,
     updated_at >= created_at AS ages FROM perdure.conversations WHERE id = $1`,
    [id],
  )
  const events = await watcher.query(
    'SELECT seq, type, content FROM perdure.events WHERE conversation_id = $1 ORDER BY seq',
    [id],
  )
  const keys = await watcher.query(
    `SELECT regexp_replace(key, '^acquire/.*', 'acquire') AS key, digest, seq, epoch IS NULL AS unleased
     FROM perdure.commit_keys WHERE conversation_id = $1 ORDER BY key`,
    [id],
  )
  return { conversation: conversation.rows, events: events.rows, keys: keys.rows }
}

type Told = Omit<CommitResult, 'at' | 'epoch'> & { hasTime: boolean; hasLease: boolean }

function told(result: CommitResult): Told {
  const { at, epoch, ...rest } = result as Extract<CommitResult, { ok: true }>
  return { ...rest, hasTime: at !== undefined, hasLease: epoch !== undefined }
}

const idle = { state: 'idle' as const, lastSeq: 3, pending: [] }

describe('a change that is committed alone writes and returns the same as in a batch', () => {
  test.each<[string, string | null, (log: Prepared) => Change, 'plain' | 'both' | 'function']>([
    ['an append', null, () => ({ events: [note('three')], expectedSeq: 2 }), 'plain'],
    ['several events', null, () => ({ events: [note('three'), note('"four", {}')], expectedSeq: 2 }), 'plain'],
    ['no event', null, () => ({ events: [], expectedSeq: 2 }), 'plain'],
    [
      'under a lease',
      'me',
      ({ epoch }) => ({ events: [note('three')], expectedSeq: 2, epoch, fsmState: idle }),
      'plain',
    ],
    [
      'letting go',
      'me',
      ({ epoch }) => ({ events: [note('three')], expectedSeq: 2, epoch, wakeAt: null, lease: 'release' }),
      'plain',
    ],
    ['a wake-up', null, () => ({ events: [note('three')], expectedSeq: 2, wakeAt: { inMs: 50_000 } }), 'plain'],
    ['a new key', null, () => ({ events: [note('three')], expectedSeq: 2, key: 'new', digest: 'd' }), 'plain'],
    ['taking a free lease', null, () => ({ events: [note('three')], expectedSeq: 2, acquire }), 'plain'],
    ['with a key', null, () => ({ events: [note('three')], expectedSeq: 2, key: 'new', acquire }), 'plain'],
    ['at its time', null, ({ at }) => ({ events: [note('three')], expectedSeq: 2, expectedAt: at }), 'plain'],
    [
      'with all of it',
      null,
      ({ at }) => ({ events: [note('three')], expectedSeq: 2, expectedAt: at, key: 'new', acquire }),
      'plain',
    ],
    ['at another time', null, ({ at }) => ({ events: [note('three')], expectedSeq: 2, expectedAt: at + 1 }), 'both'],
    [
      'by its agent',
      null,
      ({ at }) => ({ events: [note('three')], expectedSeq: 2, expectedAt: at, expectedAgent: 'helper' }),
      'plain',
    ],
    [
      'by its agent, with all of it',
      null,
      ({ at }) => ({
        ...{
          events: [note('three')],
          expectedSeq: 2,
          expectedAt: at,
          expectedAgent: 'helper',
          key: 'new',
          acquire,
        },
      }),
      'plain',
    ],
    ['by another agent', null, () => ({ events: [note('three')], expectedSeq: 2, expectedAgent: 'other' }), 'both'],
    ['a lease that is taken', 'you', () => ({ events: [note('three')], expectedSeq: 2, acquire }), 'both'],
    ['a known key', null, () => ({ events: [note('three')], expectedSeq: 2, key: 'known' }), 'both'],
    ['a known key at a wrong place', null, () => ({ events: [note('three')], expectedSeq: 1, key: 'known' }), 'both'],
    ['a wrong place', null, () => ({ events: [note('three')], expectedSeq: 1 }), 'both'],
    ['a wrong epoch', 'me', ({ epoch }) => ({ events: [note('three')], expectedSeq: 2, epoch: epoch - 1 }), 'both'],
    ['wherever it ends', null, () => ({ events: [note('three')] }), 'plain'],
    ['a lease wherever it ends', null, () => ({ events: [note('three')], acquire }), 'plain'],
    ['a key wherever it ends', null, () => ({ events: [note('three')], key: 'new' }), 'plain'],
    ['a key for nothing else', null, () => ({ events: [], key: 'new', digest: 'd' }), 'plain'],
    ['an empty log', null, () => ({ events: [note('three')], expectedSeq: 0 }), 'function'],
    ['a title', null, () => ({ events: [], expectedSeq: 2, conversation: { title: 'Two' } }), 'function'],
    ['a call', null, () => ({ events: [], expectedSeq: 2, calls: [{ id: `call-${count}` }] }), 'function'],
  ])('%s', async (_, leasedBy, changeFor, way) => {
    const [alone, batched] = [await prepared(leasedBy), await prepared(leasedBy)]
    const run = vi.spyOn(Database.prototype, 'run')
    const aloneTold = told(await store.commit(alone.id, changeFor(alone)))
    const names = run.mock.calls.map(([{ name }]) => name)
    const ways = { plain: [/^commit_one/], both: [/^commit_one/, /^commit_\d/], function: [/^commit_\d/] }[way]
    expect(names).toEqual(ways.map((pattern) => expect.stringMatching(pattern)))
    expect(run.mock.settledResults.map(({ type }) => type)).toEqual(ways.map(() => 'fulfilled'))
    count += 1
    const [result] = await Promise.all([
      store.commit(batched.id, changeFor(batched)),
      store.appendEvent(`neighbour-${count}`, note('beside')),
    ])
    expect(told(result)).toEqual(aloneTold)
    expect(await rowsOf(alone.id)).toEqual(await rowsOf(batched.id))
  })

  test('the end of a turn, and what it makes of the lapses of the lease', async () => {
    const claim = async (id: string, holder: string, ttlMs: number) => {
      const claimed = await store.claimLease(id, holder, ttlMs)
      if (claimed.type !== 'taken') throw new Error(`not taken: ${claimed.type}`)
      return claimed
    }
    const lapses: number[] = []
    for (const isAlone of [true, false]) {
      const { id } = await prepared(null)
      for (const holder of ['dead', 'late']) {
        await claim(id, holder, 1)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      const { epoch } = await claim(id, 'me', 1)
      const beside = isAlone ? Promise.resolve() : store.appendEvent(`neighbour-${id}-ended`, note('beside'))
      await Promise.all([store.commit(id, { events: [turnEnded()], epoch }), beside])
      await new Promise((resolve) => setTimeout(resolve, 5))
      lapses.push((await claim(id, 'you', 60_000)).lapses)
    }
    expect(lapses).toEqual([1, 1])
  })

  test('a known key that took the lease', async () => {
    const { id } = await prepared(null)
    const change = { events: [note('three')], key: 'leased', acquire }
    const first = await store.commit(id, change)
    if (!first.ok) throw new Error(`refused: ${first.conflict}`)
    const known = { ok: true, seq: 3, epoch: first.epoch! }
    expect(await store.commit(id, change)).toEqual(known)
    const beside = store.appendEvent(`neighbour-${count}-leased`, note('beside'))
    expect(await Promise.all([store.commit(id, change), beside])).toEqual([known, 1])
    const other = { ...change, acquire: { ...acquire, holder: 'you' } }
    expect(await store.commit(id, other)).toEqual({ ok: true, seq: 3 })
  })
})

describe('writers who wait for each other', () => {
  test('one writes at the end they all knew, and the others get a conflict', async () => {
    const { id } = await prepared(null)
    const results = await whileLocked(id, ['a', 'b', 'c'], (title) =>
      store.commit(id, { events: [note(title)], expectedSeq: 2 }),
    )
    expect(results.filter(({ ok }) => ok)).toHaveLength(1)
    expect(results.filter(({ ok }) => !ok)).toEqual([0, 1].map(() => ({ ok: false, conflict: 'seq', lastSeq: 3 })))
  })

  test('wherever it ends, all write, one after the other', async () => {
    const { id } = await prepared(null)
    const results = await whileLocked(id, ['a', 'b', 'c'], (title) => store.commit(id, { events: [note(title)] }))
    // Postgres decides which of them comes first.
    const seqs = results.map((result) => (result.ok ? result.seq : null))
    expect(seqs.toSorted()).toEqual([3, 4, 5])
    expect((await store.streamEvents(id)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
  })

  test('with the same key, wherever it ends, all get the answer of the first', async () => {
    const { id } = await prepared(null)
    const results = await whileLocked(id, [1, 2, 3], () => store.commit(id, { events: [note('x')], key: 'same' }))
    expect(results).toMatchObject([1, 2, 3].map(() => ({ ok: true, seq: 3 })))
  })

  test.each([
    ['with an event', [note('once')], 3],
    ['without', [], 2],
  ])('with the same key all get the answer of the first, %s', async (_, events, seq) => {
    const { id } = await prepared(null)
    const results = await whileLocked(id, [1, 2, 3], () =>
      store.commit(id, { events, expectedSeq: 2, key: 'same', digest: 'd' }),
    )
    expect(results).toMatchObject([1, 2, 3].map(() => ({ ok: true, seq })))
    expect(await store.streamEvents(id)).toHaveLength(seq)
  })

  test.each([
    ['is told so', 'd', { ok: true, seq: 2 }],
    ['with something else is refused', 'other', 'key_reused'],
  ])('one whose key another has used for nothing but itself %s', async (_, digest, told) => {
    const { id } = await prepared(null)
    const changes: Change[] = [
      { events: [], expectedSeq: 2, key: 'same', digest: 'd' },
      { events: [note('once')], expectedSeq: 2, key: 'same', digest },
    ]
    const code = (error: { code: string }) => error.code
    const [first, second] = await whileLocked(id, changes, (change) => store.commit(id, change).catch(code))
    expect([first, second]).toMatchObject([{ ok: true, seq: 2 }, told])
    expect(await store.streamEvents(id)).toHaveLength(2)
  })

  test.each([
    ['finds that it is another', true, { ok: false, conflict: 'seq', lastSeq: 2 }],
    ['appends to it, where it does not care', false, { ok: true, seq: 3 }],
  ])('one who waits while the log is deleted and begun anew %s', async (_, namesTime, told) => {
    const { id, at } = await prepared(null)
    const change = { events: [note('three')], expectedSeq: 2, ...(namesTime ? { expectedAt: at } : {}) }
    const beginAnew = async () => {
      await locker.query('CREATE TEMP TABLE c ON COMMIT DROP AS SELECT * FROM perdure.conversations WHERE false')
      await locker.query('CREATE TEMP TABLE e ON COMMIT DROP AS SELECT * FROM perdure.events WHERE false')
      await locker.query('INSERT INTO c SELECT * FROM perdure.conversations WHERE id = $1', [id])
      await locker.query('INSERT INTO e SELECT * FROM perdure.events WHERE conversation_id = $1', [id])
      await locker.query(`SELECT perdure.delete_conversation('default', $1)`, [id])
      await locker.query('UPDATE e SET at = at + 1')
      await locker.query('INSERT INTO perdure.conversations SELECT * FROM c')
      await locker.query('INSERT INTO perdure.events SELECT * FROM e')
    }
    const [result] = await whileLocked(id, [change], (waiting) => store.commit(id, waiting), beginAnew)
    expect(result).toMatchObject(told)
    expect(await store.streamEvents(id)).toHaveLength(told.ok ? 3 : 2)
  })
})

/** All of them find the row locked before any of them may go on. */
async function whileLocked<T, Result = CommitResult>(
  id: string,
  items: readonly T[],
  commit: (item: T) => Promise<Result>,
  meanwhile: () => Promise<void> = async () => {},
): Promise<Result[]> {
  await locker.query('BEGIN')
  await locker.query('SELECT FROM perdure.conversations WHERE id = $1 FOR UPDATE', [id])
  const commits: Promise<Result>[] = []
  for (const item of items) {
    commits.push(commit(item))
    await vi.waitFor(async () => expect(await waiting()).toBe(commits.length), { interval: 5, timeout: 20_000 })
  }
  await meanwhile()
  await locker.query('COMMIT')
  return Promise.all(commits)
}

async function waiting(): Promise<number> {
  const sql = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  return (await watcher.query<{ count: number }>(sql)).rows[0]!.count
}
