import { expect, test } from 'vitest'
import { PostgresSchema } from '../../../test/setup/postgres-schema.ts'
import { silentLogger } from '../../base/logger.ts'
import { titled, userMsg } from '../../testing/conformance/event-builders.ts'
import { createStore } from '../create-store.ts'
import type { Store } from '../store.ts'

const claim = { holder: 'one', ttlMs: 60_000, agents: ['support'], limit: 9, suspects: 1 }

async function withStore(use: (store: Store) => Promise<void>): Promise<void> {
  const schema = PostgresSchema.take()
  const store = createStore(schema.open(), { logger: silentLogger })
  try {
    await use(store)
  } finally {
    await store.close()
    await schema.giveBack()
  }
}

const begin = (store: Store, id: string, text = 'hello') =>
  store.commit(id, { events: [userMsg(text)], conversation: { agent: 'support' } })

/** The seqs that a claim brings of each conversation that it takes; null where it brings none. */
async function brought(store: Store, only?: readonly string[]): Promise<Record<string, number[] | null>> {
  const named = only ? { only: only.map((id) => ({ tenant: 'default', id })) } : {}
  const taken = await store.claimDue({ ...claim, ...named })
  return Object.fromEntries(
    taken.map((one) => [one.id, one.type === 'taken' && one.log ? [...one.log.events].map(({ seq }) => seq) : null]),
  )
}

test('a claim brings the last eight events of each log, whether it was named or found', () =>
  withStore(async (store) => {
    for (const id of ['short', 'long', 'found']) await begin(store, id)
    for (let n = 0; n < 10; n++) await store.appendEvent('long', titled(`title ${n} "é"`))
    expect(await brought(store, ['short', 'long'])).toEqual({ short: [1], long: [4, 5, 6, 7, 8, 9, 10, 11] })
    const [found] = await store.claimDue(claim)
    if (found?.type !== 'taken' || !found.log) throw new Error('nothing was brought')
    expect([...found.log.events]).toEqual(await store.streamEvents('found'))
    expect(found.log).toMatchObject({ first: { seq: 1 }, last: { seq: 1 }, hasMore: false })
  }))

test('what has not been due for as long as is asked for is left', () =>
  withStore(async (store) => {
    for (const id of ['a', 'b']) await begin(store, id)
    expect(await store.claimDue({ ...claim, dueForMs: 600_000 })).toEqual([])
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect((await store.claimDue({ ...claim, dueForMs: 25 })).map(({ id }) => id)).toEqual(['a', 'b'])
  }))

test('an event that is large is not brought, nor is a log without it', () =>
  withStore(async (store) => {
    await begin(store, 'ends', 'x'.repeat(5_000))
    await begin(store, 'begins', 'x'.repeat(5_000))
    await store.appendEvent('begins', titled('A'))
    await begin(store, 'between')
    await store.appendEvent('between', userMsg('x'.repeat(5_000)))
    await store.appendEvent('between', titled('A'))
    expect(await brought(store)).toEqual({ ends: null, begins: [2], between: null })
  }))

test('the first event of a log with a summary is not brought: the log is read from its summary on', () =>
  withStore(async (store) => {
    await begin(store, 'chat')
    await store.appendEvent('chat', titled('A'))
    await store.putSummary('chat', { fromSeq: 1, toSeq: 1, content: 'hello', version: 1, base: null })
    expect(await brought(store)).toEqual({ chat: [2] })
  }))
