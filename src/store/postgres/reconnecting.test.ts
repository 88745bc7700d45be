import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCuttingProxy } from '../../../test/faults/lost-acknowledgement/cutting-proxy.ts'
import { type RunningPostgres, startPostgres } from '../../../test/setup/start-postgres.ts'
import { silentLogger } from '../../base/logger.ts'
import type { Store } from '../store.ts'
import { postgresStore } from './index.ts'

const titled = (title: string) => ({ type: 'titled', content: { title } }) as const
const logger = silentLogger

let server: RunningPostgres

beforeAll(async () => {
  server = await startPostgres()
})

afterAll(() => server.destroy())

async function dropConnections(): Promise<void> {
  const client = new pg.Client(server.url)
  await client.connect()
  await client.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename IS NOT NULL',
  )
  await client.end()
}

async function withStore(connectionString: string, use: (store: Store) => Promise<void>): Promise<void> {
  const store = postgresStore({ connectionString, max: 3, logger })
  try {
    await use(store)
  } finally {
    await store.close()
  }
}

describe('dropped connections', () => {
  test('a store keeps working after its connections were ended while it was idle', () =>
    withStore(server.url, async (store) => {
      await store.appendEvent('dropped', titled('before'))
      await dropConnections()
      await store.commit('dropped', { events: [titled('after')], key: 'k' })
      expect(await store.streamEvents('dropped')).toHaveLength(2)
    }))

  test('reads and commits with a key do not notice that connections end under them', () =>
    withStore(server.url, async (store) => {
      await store.appendEvent('busy', titled('first'))
      const commits = Array.from({ length: 60 }, async (_, n) => {
        const result = await store.commit('busy', { events: [titled(String(n))], key: `k-${n}` })
        await store.streamEvents('busy', { limit: 1 })
        return result.ok
      })
      await dropConnections()
      await dropConnections()
      expect(await Promise.all(commits)).not.toContain(false)
      const events = await store.streamEvents('busy')
      expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 61 }, (_, index) => index + 1))
    }))
})

describe('a server that goes away', () => {
  test('while it is down nothing is ambiguous, and when it is back the store works', () =>
    withStore(server.url, async (store) => {
      await store.appendEvent('down', titled('before'))
      await server.stop('immediate')
      await expect(store.appendEvent('down', titled('lost'))).rejects.toMatchObject({
        code: 'store_failed',
        retryable: true,
      })
      await expect(store.appendEvent('down', titled('refused'))).rejects.toMatchObject({
        ambiguous: false,
        retryable: true,
      })
      await server.restart()
      await store.commit('down', { events: [titled('after')], key: 'k' })
      expect((await store.streamEvents('down')).map(({ content }) => content)).toEqual([
        { title: 'before' },
        { title: 'after' },
      ])
    }))

  test('a store may be made before its server is there', async () => {
    await server.stop()
    await withStore(server.url, async (store) => {
      const appending = store.appendEvent('early', titled('first'))
      await server.restart()
      expect(await appending).toBe(1)
    })
  })
})

describe('an answer that was lost', () => {
  test('with a key it is settled: written once, and answered as usual', async () => {
    const proxy = await startCuttingProxy(server.url)
    await withStore(proxy.url, async (store) => {
      await store.appendEvent('cut', titled('first'))
      const { wasCut } = proxy.cutAfter('marker-with-key')
      const result = await store.commit('cut', { events: [titled('marker-with-key')], key: 'k' })
      expect([await wasCut, result]).toMatchObject([true, { ok: true, seq: 2 }])
      expect(await store.streamEvents('cut')).toHaveLength(2)
    })
    await proxy.close()
  })

  test('with a key it is settled also where settings are merged', async () => {
    const proxy = await startCuttingProxy(server.url)
    await withStore(proxy.url, async (store) => {
      await store.putConversation('cut-settings', { settings: { a: 1 } })
      const { wasCut } = proxy.cutAfter('COMMIT')
      const change = { events: [titled('x')], key: 'k', conversation: { settings: { b: 2 } } }
      expect([await store.commit('cut-settings', change), await wasCut]).toMatchObject([{ ok: true, seq: 1 }, true])
      expect((await store.getConversation('cut-settings'))?.settings).toEqual({ a: 1, b: 2 })
      expect(await store.streamEvents('cut-settings')).toHaveLength(1)
    })
    await proxy.close()
  })

  test('without a key the error says that it may have happened', async () => {
    const proxy = await startCuttingProxy(server.url)
    await withStore(proxy.url, async (store) => {
      await store.appendEvent('cut-plain', titled('first'))
      proxy.cutAfter('marker-without-key')
      await expect(store.appendEvent('cut-plain', titled('marker-without-key'))).rejects.toMatchObject({
        code: 'store_failed',
        ambiguous: true,
      })
      expect(await store.streamEvents('cut-plain')).toHaveLength(2)
    })
    await proxy.close()
  })
})
