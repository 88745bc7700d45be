import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { ended, said } from '../../../test/log/story.ts'
import { silentLogger } from '../../base/logger.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import { loadWhole, WorkingSets } from '../../store/working-sets.ts'
import { follow } from './child-tree.ts'
import { Channels } from './log-poll.ts'

function start() {
  const store = memoryStore({ logger: silentLogger })
  const channels = new Channels(store, new WorkingSets())
  store.onWake(({ tenant, id, seq }) => channels.peek(tenant, id)?.hint(seq))
  const controller = new AbortController()
  const wait = (turns: number, writtenSeq: number | null = null) =>
    follow({
      tenant: 'default',
      id: 'c1',
      channels,
      signal: controller.signal,
      writtenSeq,
      until: (state) => (state.turns.length === turns ? state.lastSeq : null),
    })
  return { store, channels, controller, wait }
}

test('it waits until the log says so, and leaves nothing behind', async () => {
  const { store, channels, controller, wait } = start()
  await store.commit('c1', { events: [said('t1')] })
  const waiting = wait(2)
  await store.commit('c1', { events: [ended('t1'), said('t2')] })
  expect(await waiting).toBe(3)
  expect(channels.peek('default', 'c1')).toBeUndefined()
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
})

test('it does not look at what it knew before it was asked', async () => {
  const { store, wait } = start()
  await store.commit('c1', { events: [said('t1')] })
  const other = wait(9)
  const seen = wait(1)
  expect(await seen).toBe(1)
  other.catch(() => {})
})

test('it waits with what the owner here knows, and never answers from it', async () => {
  const { store, channels, wait } = start()
  await store.commit('c1', { events: [said('t1')] })
  const known = await loadWhole(store, 'c1')
  channels.of('default', 'c1').attach(() => known)
  await store.commit('c1', { events: [ended('t1')] })
  // By what the owner knows there is an answer already, and another one by the log.
  expect(await wait(1, 1)).toBe(2)
})

test('it ends with the reason of its signal, also when that came first', async () => {
  const { channels, controller, wait } = start()
  const waiting = wait(1)
  controller.abort(new Error('closed'))
  await expect(waiting).rejects.toThrow('closed')
  await expect(wait(1)).rejects.toThrow('closed')
  expect(channels.peek('default', 'c1')).toBeUndefined()
})

test('it fails when the log cannot be read', async () => {
  const { store, wait } = start()
  await store.close()
  await expect(wait(1)).rejects.toMatchObject({ code: 'store_closed' })
})
