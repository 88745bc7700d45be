import { expect, test } from 'vitest'
import { suspendCalls, userMsg } from '../../testing/conformance/event-builders.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { memoryStore } from './memory-store.ts'

const none = { putCalls: [], removeCalls: [], bases: [], putBlobRefs: [], removeBlobRefs: [] }

async function filled() {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  await suspendCalls(store, 'chat', ['c1', 'c2'])
  await store.putSummary('chat', { fromSeq: 1, toSeq: 2, version: 1, content: 'so far', base: null })
  const { lastSeq, updatedAt } = (await store.getConversation('chat'))!
  const upkeep = store.upkeep!
  const rebuild = (more: object, columns = {}) =>
    upkeep.rebuild('default', 'chat', { ...none, expected: { lastSeq, updatedAt }, columns, ...more })
  const read = async () => {
    const found: Record<string, unknown>[] = []
    await upkeep.snapshot(async (reader) => {
      for await (const conversation of reader.conversations('default')) found.push({ ...conversation })
    })
    return found[0]!
  }
  return { clock, store, upkeep, rebuild, read }
}

test('conversations are counted of one tenant, of all, and of one that has none', async () => {
  const { store, upkeep } = await filled()
  await store.forTenant('acme').commit('chat', { events: [userMsg()] })
  const counted = await upkeep.snapshot((reader) =>
    Promise.all(['default', 'acme', 'nobody', null].map((tenant) => reader.count(tenant))),
  )
  expect(counted).toEqual([1, 1, 0, 2])
})

test('a rebuild writes the given columns; the rest of the row stays', async () => {
  const { store, rebuild, read } = await filled()
  const before = await read()
  expect(await rebuild({}, { idleSeq: 1, childOf: 'c9', wakeAt: 5 })).toBe('ok')
  const after = await read()
  expect(after).toMatchObject({ childOf: 'c9', wakeAt: 5, status: before['status'] })
  expect(await rebuild({})).toBe('ok')
  expect(await read()).toEqual(after)
  expect(await store.pendingToolCalls('chat')).toHaveLength(2)
})

test('calls are removed and put, and a summary gets its base', async () => {
  const { store, upkeep, rebuild } = await filled()
  const call = await upkeep.snapshot(async (reader) => await reader.call('default', 'c2'))
  expect(await rebuild({ removeCalls: ['c1', 'c2'], putCalls: [{ ...call!, round: 7 }] })).toBe('ok')
  expect(await store.getToolCall('c1')).toBe(null)
  expect(await store.getToolCall('c2')).toMatchObject({ round: 7 })
  expect((await store.pendingToolCalls('chat')).map(({ id }) => id)).toEqual(['c2'])
  await rebuild({
    bases: [
      { toSeq: 2, base: '{"lastSeq":2}' },
      { toSeq: 9, base: '{}' },
    ],
  })
  expect((await store.latestSummary('chat'))?.base).toEqual({ lastSeq: 2 })
})

test('audit rows are removed by their age, of one tenant or of all, and as many as asked for', async () => {
  const { clock, store, upkeep } = await filled()
  const other = store.forTenant('other')
  await other.appendEvent('chat', userMsg())
  for (const tenant of [store, other]) for (const turnRef of ['a', 'b']) await tenant.putModelCall('chat', { turnRef })
  await clock.advance(1_000)
  for (const tenant of [store, other]) await tenant.putModelCall('chat', { turnRef: 'new' })
  const collect = (more: object) =>
    upkeep.collect({ what: 'model_calls', tenant: null, olderThanMs: 500, limit: 99, isDryRun: false, ...more })
  const left = async () =>
    Promise.all([store, other].map(async (tenant) => (await tenant.modelCalls('chat')).map(({ turnRef }) => turnRef)))
  expect(await collect({ isDryRun: true })).toEqual({ rows: 4, bytes: 0 })
  expect(await collect({ tenant: 'other', limit: 1 })).toEqual({ rows: 1, bytes: 0 })
  expect((await left()).map((refs) => refs.length)).toEqual([3, 2])
  expect(await collect({ limit: 2 })).toEqual({ rows: 2, bytes: 0 })
  expect(await collect({})).toEqual({ rows: 1, bytes: 0 })
  expect(await left()).toEqual([['new'], ['new']])
})

test('a snapshot that is there is not written over', async () => {
  const { store, upkeep } = await filled()
  expect(await upkeep.restoreSnapshot('default', 'chat', '{"n":1}')).toBe(true)
  expect(await upkeep.restoreSnapshot('default', 'chat', '{"n":2}')).toBe(false)
  expect(await store.getSnapshot('chat')).toEqual({ n: 1 })
})
