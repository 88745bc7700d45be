import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, test } from 'vitest'
import type { NewEvent } from '../../src/log/events.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'

/** Short stories of what random commands once found, so that they are told whatever the seed. */
const folder = mkdtempSync(join(tmpdir(), 'perdure-'))
afterAll(() => rmSync(folder, { recursive: true }))

let created = 0
const stores: Record<string, () => Store> = {
  memory: () => memoryStore(),
  sqlite: () => sqliteStore({ path: join(folder, `${++created}.db`) }),
  postgres: () =>
    postgresStore({ connectionString: inject('postgresUrl'), schema: `found_by_random_commands_${++created}` }),
}

describe.each(Object.keys(stores))('found by random commands (%s)', (name) => {
  const story = (title: string, tell: (store: Store) => Promise<void>) =>
    test(title, async () => {
      const store = stores[name]!()
      try {
        await tell(store)
      } finally {
        await store.close()
      }
    })

  story('a conversation that got another parent no longer goes with the first', async (store) => {
    await store.putConversation('parent', {})
    await store.putConversation('child', { parent: { id: 'parent', callId: 'call' } })
    await store.putConversation('child', { parent: { id: 'elsewhere', at: 3 } })
    await store.deleteConversation('parent')
    expect(await store.getConversation('child')).toMatchObject({ parent: { id: 'elsewhere', at: 3 } })
  })

  story('a lease that is lost is told of, whatever else was released under its epoch', async (store) => {
    await store.putConversation('held', {})
    await store.putConversation('other', {})
    const { epoch } = (await store.acquireLease('held', 'worker', 60_000))!
    await store.releaseLease('other', epoch)
    await store.deleteConversation('held')
    expect(await store.renewLeases('worker', 60_000)).toEqual([{ tenant: 'default', id: 'held' }])
  })

  story('a fork has no cached state where its summary has no base to fold from', async (store) => {
    await store.commit('chat', { events: [userMsg] })
    await store.putSummary('chat', { fromSeq: 1, toSeq: 1, content: 'so far', version: 1, base: null })
    await store.fork('chat', 'fork')
    expect(await store.getConversation('fork')).toMatchObject({ lastSeq: 1, fsmState: null, status: 'idle' })
  })

  story('of two cached states in one change, one decides both cache and status', async (store) => {
    const running = { state: 'running', pending: [], lastSeq: 1 } as const
    const idle = { state: 'idle', pending: [], lastSeq: 1 } as const
    await store.commit('chat', { events: [userMsg], fsmState: running, conversation: { fsmState: idle } })
    expect(await store.getConversation('chat')).toMatchObject({ fsmState: running, status: 'active' })
  })

  story('a commit tells its time, also without events, but not when it was known by its key', async (store) => {
    await store.putConversation('chat', {})
    const change = { events: [], wakeAt: 'now' as const, key: 'again' }
    expect(await store.commit('chat', change)).toEqual({ ok: true, seq: 0, at: expect.any(Number) })
    expect(await store.commit('chat', change)).toEqual({ ok: true, seq: 0 })
  })

  story('a list by every condition is as good with a bound in bytes as without', async (store) => {
    await store.putConversation('last', { agent: 'support', owner: 'ann', parent: { id: 'chat', at: 1 } })
    const filter = { kind: 'conversation', status: 'idle', agent: 'support', owner: 'ann' } as const
    const rest = { forkOf: 'chat', text: 'a', before: 'last', limit: 9 }
    for (let time = 0; time < 4; time++) {
      expect(await store.listConversations({ ...filter, ...rest })).toEqual([])
      expect(await store.listConversations({ ...filter, ...rest, maxBytes: 1_000 })).toEqual([])
    }
  })
})

const userMsg: NewEvent = {
  type: 'user_msg',
  content: { turnId: 'turn', message: { parts: [{ type: 'text', text: 'hello' }] }, options: {}, who: 'somebody' },
}
