import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import type { Store } from '../store.ts'
import { postgresStore } from './index.ts'

const titled = (title: string) => ({ type: 'titled', content: { title } }) as const

let connectionString: string
let store: Store
let watcher: pg.Client

beforeAll(async () => {
  connectionString = await freshDatabase(inject('postgresUrl'))
  store = postgresStore({ connectionString, max: 4 })
  watcher = new pg.Client(connectionString)
  await watcher.connect()
})

afterAll(async () => {
  await store.close()
  await watcher.end()
})

/** The transaction that wrote each event, in the order of the ids. */
async function transactionsOf(prefix: string): Promise<string[]> {
  const { rows } = await watcher.query(
    'SELECT xmin::text FROM perdure.events WHERE conversation_id LIKE $1 ORDER BY conversation_id, seq',
    [`${prefix}%`],
  )
  return rows.map((row) => row.xmin)
}

describe('a batch', () => {
  test('commits of several conversations are one transaction', async () => {
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => store.appendEvent(`together-${id}`, titled(id))))
    const transactions = await transactionsOf('together-')
    expect([transactions.length, new Set(transactions).size]).toEqual([4, 1])
  })

  test('the same conversation may be in it several times, in order', async () => {
    const seqs = await Promise.all([1, 2, 3, 4].map((n) => store.appendEvent('again', titled(String(n)))))
    expect(seqs).toEqual([1, 2, 3, 4])
    const events = await store.streamEvents('again')
    expect(events.map(({ content }) => content)).toEqual(['1', '2', '3', '4'].map((title) => ({ title })))
    expect(new Set(await transactionsOf('again')).size).toBe(1)
  })

  test('a refused change leaves no trace and does not disturb the others', async () => {
    const results = await Promise.allSettled([
      store.appendEvent('refusal-a', titled('first')),
      store.commit('refusal-a', { events: [titled('second')], expectedSeq: 7 }),
      store.commit('refusal-b', { events: [titled('never')] }),
      store.commit('refusal-a', { events: [titled('third')], expectedSeq: 1 }),
      store.commit('refusal-c', { events: [titled('never')], epoch: 5 }),
    ])
    expect(results).toMatchObject([
      { value: 1 },
      { value: { ok: false, conflict: 'seq', lastSeq: 1 } },
      { reason: { code: 'conversation_not_found' } },
      { value: { ok: true, seq: 2 } },
      { value: { ok: false, conflict: 'epoch', lastSeq: 0 } },
    ])
    const { rows } = await watcher.query(`SELECT id, last_seq FROM perdure.conversations WHERE id LIKE 'refusal-%'`)
    expect(rows).toEqual([{ id: 'refusal-a', last_seq: '2' }])
  })

  test('a key that comes twice in it counts once', async () => {
    await store.appendEvent('keyed', titled('first'))
    const change = { events: [titled('once')], key: 'k' }
    const results = await Promise.all([store.commit('keyed', change), store.commit('keyed', change)])
    expect(results).toMatchObject([
      { ok: true, seq: 2 },
      { ok: true, seq: 2 },
    ])
    expect(await store.streamEvents('keyed')).toHaveLength(2)
  })

  test('a change that waits for its conversation to be created is not what creates it', async () => {
    const [missing, created] = await Promise.allSettled([
      store.commit('later', { events: [titled('too early')] }),
      store.appendEvent('later', titled('first')),
    ])
    expect(missing).toMatchObject({ status: 'rejected', reason: { code: 'conversation_not_found' } })
    expect(created).toMatchObject({ value: 1 })
  })

  test('a call id goes to one of two conversations that want it', async () => {
    const write = (id: string) => store.upsertToolCall(id, { id: 'wanted', name: id })
    const results = await Promise.allSettled([write('wants-a'), write('wants-b')])
    expect(results).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'invalid_argument' } }])
    expect((await store.getToolCall('wanted'))?.conversationId).toBe('wants-a')
    expect(await store.getConversation('wants-b')).toBeNull()
  })

  test('settings merge also when many are put at once', async () => {
    const settings = Array.from({ length: 12 }, (_, n) => ({ [`key-${n}`]: n }))
    await Promise.all(settings.map((added) => store.putConversation('settled', { settings: added })))
    expect((await store.getConversation('settled'))?.settings).toEqual(Object.assign({}, ...settings))
  })
})

describe('batches of two stores', () => {
  test('the same new conversations in opposite order do not block each other', async () => {
    const other = postgresStore({ connectionString, max: 4 })
    const ids = Array.from({ length: 30 }, (_, n) => `crossing-${n}`)
    const append = (through: Store, id: string) => through.appendEvent(id, titled(id))
    await Promise.all([
      ...ids.map((id) => append(store, id)),
      ...ids.toReversed().map((id) => append(other, id)),
      ...ids.map((id) => append(other, id)),
    ])
    for (const id of ids) expect((await store.streamEvents(id)).map(({ seq }) => seq)).toEqual([1, 2, 3])
    await other.close()
  })
})

describe('plans', () => {
  test('look-ups by id take the primary key, also while the tables have no statistics', async () => {
    const fresh = await freshDatabase(inject('postgresUrl'))
    const empty = postgresStore({ connectionString: fresh, max: 1 })
    for (const id of ['a', 'b']) {
      await empty.appendEvent(id, titled(id))
      await empty.upsertToolCall(id, { id: `call-${id}` })
      await empty.resolveToolCall(`call-${id}`, 'resolved', null)
      await empty.getConversation(id)
    }
    await empty.close()
    const client = new pg.Client(fresh)
    await client.connect()
    const { rows } = await client.query(
      `SELECT indexrelname, idx_scan::int FROM pg_stat_user_indexes WHERE schemaname = 'perdure'
        AND indexrelname IN ('conversations_newest', 'conversations_children', 'calls_of_conversation', 'calls_inbox')`,
    )
    await client.end()
    expect(rows.filter((row) => row.idx_scan > 0)).toEqual([])
  })

  test('answers read the rows of their own calls alone, also by a plan that was made while there were none', async () => {
    const fresh = await freshDatabase(inject('postgresUrl'))
    const grown = postgresStore({ connectionString: fresh, max: 1 })
    const callIds = Array.from({ length: 300 }, (_, n) => `call-${n}`)
    for (const callId of callIds) {
      await grown.upsertToolCall('a', { id: callId })
      await grown.commit('a', { events: [], resolve: [{ callId, round: 1, status: 'resolved', result: null }] })
    }
    await grown.close()
    const client = new pg.Client(fresh)
    await client.connect()
    const { rows } = await client.query(
      `SELECT idx_tup_read::int AS read FROM pg_stat_user_indexes WHERE schemaname = 'perdure' AND indexrelname = 'calls_pkey'`,
    )
    await client.end()
    expect(rows[0].read).toBeLessThan(10 * callIds.length)
  })
})
