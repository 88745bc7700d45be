import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { freshDatabase } from '../../../test/setup/fresh-database.ts'
import { until } from '../../../test/stories/until.ts'
import { type FaultyProxy, startFaultyProxy } from '../../../test/support/faulty-proxy.ts'
import { type Logger, silentLogger } from '../../base/logger.ts'
import type { Store, WakeHint } from '../store.ts'
import { type PostgresStoreOptions, postgresStore } from './index.ts'

const titled = (title: string) => ({ type: 'titled', content: { title } }) as const

let direct: string
let proxy: FaultyProxy
const stores: Store[] = []
const warnings: string[] = []
const logger: Logger = { ...silentLogger, warn: (message) => void warnings.push(message) }

beforeEach(async () => {
  direct = await freshDatabase(inject('postgresUrl'))
  proxy = await startFaultyProxy(direct)
  warnings.length = 0
})

afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()))
  await proxy.close()
})

function open(options: Partial<PostgresStoreOptions> = {}): Store {
  const limits = { connectTimeoutMs: 2_000, answerTimeoutMs: 2_000 }
  const store = postgresStore({ connectionString: proxy.url, logger, expiry: false, ...limits, ...options })
  stores.push(store)
  return store
}

test('a new connection that goes silent at its first statement is dropped, and the store uses another', async () => {
  await open({ connectionString: direct }).appendEvent('c', titled('migrated'))
  const store = open()
  proxy.hangNewAt('SET synchronous_commit')
  await expect(store.getConversation('c')).rejects.toMatchObject({ code: 'store_failed', retryable: true })
  proxy.hangNewAt(null)
  expect(await store.getConversation('c')).toMatchObject({ id: 'c' })
})

test('a new connection that goes silent while the schema is read is dropped', async () => {
  const store = open({ migrateTimeoutMs: 20_000 })
  proxy.hangNewAt('to_regclass')
  await expect(store.getConversation('c')).rejects.toMatchObject({ code: 'store_failed', retryable: true })
  proxy.hangNewAt(null)
  expect(await store.getConversation('c')).toBeNull()
})

test('connections that went silent are noticed after `answerTimeoutMs`, and what can be repeated is', async () => {
  const store = open({ max: 2 })
  await Promise.all([store.appendEvent('a', titled('x')), store.appendEvent('b', titled('x'))])
  proxy.freeze()
  expect(await store.getConversation('a')).toMatchObject({ id: 'a' })
  await store.commit('a', { events: [titled('y')], key: 'k' })
  expect(await store.streamEvents('a')).toHaveLength(2)
})

test('a pool whose connections are all busy says so, and the work goes on when one is free', async () => {
  const store = open({ max: 1, answerTimeoutMs: 20_000 })
  await store.appendEvent('c', titled('x'))
  let finish = (): void => {}
  const reading = store.upkeep!.snapshot(() => new Promise<void>((resolve) => (finish = resolve)))
  await sleep(50)
  const refused = store.getConversation('c')
  await expect(refused).rejects.toMatchObject({ code: 'store_failed', retryable: true })
  await expect(refused).rejects.toThrow(
    "The 1 connection of the pool was busy for 2000 ms. Nothing was written. Raise 'max'",
  )
  expect(warnings).toEqual(['all connections to Postgres are busy'])
  finish()
  await reading
  expect(await store.getConversation('c')).toMatchObject({ id: 'c' })
})

test('a store whose hints went silent notices, says so, and hears them again', async () => {
  const here = open({ connectionString: direct })
  const there = open({ hintCheckMs: 200 })
  const heard: WakeHint[] = []
  there.onWake((hint) => heard.push(hint))
  const write = async (): Promise<boolean> => {
    await here.appendEvent('c', titled('x'))
    await sleep(20)
    return heard.length > 0
  }
  await until(write)
  proxy.freeze()
  await until(() => warnings.length > 0)
  expect(warnings).toEqual(['the connection for hints broke; work is found by polling until it is back'])
  heard.length = 0
  await until(write)
})

test('limits of time must be whole numbers of milliseconds', () => {
  for (const name of ['connectTimeoutMs', 'answerTimeoutMs', 'migrateTimeoutMs', 'hintCheckMs'] as const) {
    for (const value of [0, -1, 0.5, Number.NaN, '5' as never]) {
      expect(() => postgresStore({ connectionString: direct, [name]: value })).toThrow(name)
    }
  }
})
