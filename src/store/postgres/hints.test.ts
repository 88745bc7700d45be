import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, inject, test, vi } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { silentLogger } from '../../base/logger.ts'
import { suspendCalls, userMsg } from '../../testing/conformance/event-builders.ts'
import type { Store, WakeHint } from '../store.ts'
import { postgresStore } from './index.ts'

const titled = (title: string) => ({ type: 'titled', content: { title } }) as const

async function withStores(use: (here: Store, there: Store, connectionString: string) => Promise<void>): Promise<void> {
  const connectionString = await freshDatabase(inject('postgresUrl'))
  const [here, there] = [0, 1].map(() => postgresStore({ connectionString, logger: silentLogger })) as [Store, Store]
  try {
    await use(here, there, connectionString)
  } finally {
    await Promise.all([here.close(), there.close()])
  }
}

/** Hints may be lost, so the log grows until one arrives. */
async function heardAfterWrites(heard: WakeHint[], write: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; heard.length === 0 && tries < 200; tries++) {
    await write()
    await sleep(20)
  }
  expect(heard.length).toBeGreaterThan(0)
}

test('another store hears that a log has grown, and again after its connection was ended', () =>
  withStores(async (here, there, connectionString) => {
    const heard: WakeHint[] = []
    there.onWake((hint) => heard.push(hint))
    const write = () => here.forTenant('tenant "x"').appendEvent('chat é', titled('x'))
    await heardAfterWrites(heard, write)
    expect(heard[0]).toMatchObject({ tenant: 'tenant "x"', id: 'chat é' })

    const client = new pg.Client(connectionString)
    await client.connect()
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'`)
    await client.end()
    heard.length = 0
    await heardAfterWrites(heard, write)
  }))

test('a store does not hear its own hints a second time', () =>
  withStores(async (here, there) => {
    const heard: WakeHint[] = []
    const heardThere: WakeHint[] = []
    there.onWake((hint) => heardThere.push(hint))
    await heardAfterWrites(heardThere, () => here.appendEvent('warm up', titled('x')))
    here.onWake((hint) => heard.push(hint))
    const seq = await here.appendEvent('chat', titled('x'))
    await heardAfterWrites(heardThere, async () => {})
    await sleep(50)
    expect(heard.filter(({ id }) => id === 'chat')).toEqual([{ tenant: 'default', id: 'chat', seq }])
  }))

test('many hints at once arrive, however many fit into one message', () =>
  withStores(async (here, there) => {
    const heard = new Set<string>()
    const warm: WakeHint[] = []
    there.onWake((hint) => (hint.id === 'warm up' ? warm.push(hint) : heard.add(hint.id)))
    await heardAfterWrites(warm, () => here.appendEvent('warm up', titled('x')))
    const ids = Array.from({ length: 150 }, (_, n) => `${n} ${'"'.repeat(240)}`)
    await Promise.all(ids.map((id) => here.appendEvent(id, titled('x'))))
    for (let tries = 0; heard.size < ids.length && tries < 200; tries++) await sleep(20)
    expect(heard).toEqual(new Set(ids))
  }))

test('what others send on the channel is no hint and does no harm', () =>
  withStores(async (here, there, connectionString) => {
    const heard: WakeHint[] = []
    there.onWake((hint) => heard.push(hint))
    await heardAfterWrites(heard, () => here.appendEvent('chat', titled('x')))
    heard.length = 0
    const client = new pg.Client(connectionString)
    await client.connect()
    for (const payload of ['', 'x', '7', '{}', '[]', '["a",null]']) {
      await client.query('SELECT pg_notify($1, $2)', ['perdure_perdure', payload])
    }
    await client.end()
    await sleep(50)
    expect(heard.filter(({ id }) => id !== 'chat')).toEqual([])
  }))

test('a worker that announced itself is named for its agents until it leaves, and what an owner commits names none', () =>
  withStores(async (here, there) => {
    const heard: WakeHint[] = []
    there.onWake((hint) => heard.push(hint))
    here.onWake(() => {})
    const leave = there.announce!({ holder: 'worker-0123456789ab', agents: () => ['support'] })
    const takerOf = async (agent: string): Promise<WakeHint['taker']> => {
      heard.length = 0
      for (let tries = 0; !heard.some(({ id }) => id === agent) && tries < 200; tries++) {
        await here.commit(agent, { events: [userMsg()], conversation: { agent }, wakeAt: 'now' })
        await sleep(20)
      }
      return heard.findLast(({ id }) => id === agent)!.taker
    }
    // This store must have heard of the worker first.
    await vi.waitUntil(async () => (await takerOf('support')) === 'worker-0123456789ab', { timeout: 10_000 })
    expect(await takerOf('sales')).toBe(undefined)
    const held = await here.commit('held', {
      ...{ events: [userMsg()], conversation: { agent: 'support' }, wakeAt: 'now' },
      acquire: { holder: 'me', ttlMs: 60_000 },
    })
    await here.commit('held', { events: [titled('y')], epoch: (held as { epoch: number }).epoch })
    await vi.waitUntil(() => heard.some(({ id, seq }) => id === 'held' && seq === 2), { timeout: 10_000 })
    expect(heard.filter(({ id }) => id === 'held').map(({ taker }) => taker)).not.toContain('worker-0123456789ab')
    expect(heard.filter(({ id }) => id === 'held').every(({ taker }) => taker === null)).toBe(true)
    leave()
    await vi.waitUntil(async () => (await takerOf('support')) === undefined, { timeout: 10_000 })
  }))

test('a deadline that has passed names one worker for all, also where it is one of the process that ended the call', async () => {
  const connectionString = await freshDatabase(inject('postgresUrl'))
  const open = (expiry: boolean): Store => postgresStore({ connectionString, logger: silentLogger, expiry })
  const [here, there] = [open(true), open(false)]
  const hints: WakeHint[] = []
  const heardThere: WakeHint[] = []
  here.onWake((hint) => hints.push(hint))
  there.onWake((hint) => heardThere.push(hint))
  const leave = here.announce!({ holder: 'worker-0123456789ab', agents: () => ['support'] })
  await heardAfterWrites(heardThere, () => here.appendEvent('warm up', titled('x')))
  await suspendCalls(here, 'chat', ['call'], { expiresInMs: 1 })
  const ended = (heard: WakeHint[]) => heard.find(({ id, taker }) => id === 'chat' && typeof taker === 'string')
  await vi.waitUntil(() => ended(hints) && ended(heardThere), { timeout: 10_000 })
  expect(ended(hints)).toMatchObject({ taker: 'worker-0123456789ab' })
  expect(ended(heardThere)).toMatchObject({ taker: '0123456789ab' })
  leave()
  await Promise.all([here.close(), there.close()])
})
