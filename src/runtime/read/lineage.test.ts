import { expect, test } from 'vitest'
import type { TenantStore } from '../../store/store.ts'
import { lineageOf } from './lists.ts'

function storeOf(parents: Record<string, object | null>): TenantStore {
  return {
    getConversation: async (id: string) => (id in parents ? { id, parent: parents[id] } : null),
  } as unknown as TenantStore
}

test('a fork goes back to where it was cut from, and so on to the first that is there', async () => {
  const store = storeOf({ c: { id: 'b', at: 5 }, b: { id: 'a', at: 2 }, a: null })
  expect(await lineageOf(store, 'c')).toEqual([
    { id: 'b', at: 5 },
    { id: 'a', at: 2 },
  ])
  expect(await lineageOf(store, 'a')).toEqual([])
  expect(await lineageOf(store, 'gone')).toEqual([])
  expect(await lineageOf(storeOf({ c: { id: 'gone', at: 5 } }), 'c')).toEqual([{ id: 'gone', at: 5 }])
})

test('a child of a call was not cut from anywhere', async () => {
  expect(await lineageOf(storeOf({ c: { id: 'b', callId: 'c1' } }), 'c')).toEqual([])
})

test('a line that comes back to itself has an end', async () => {
  const store = storeOf({ b: { id: 'a', at: 1 }, a: { id: 'b', at: 2 } })
  expect(await lineageOf(store, 'b')).toEqual([{ id: 'a', at: 1 }])
})

test('of a long line the nearest are told, as many as asked for', async () => {
  const store = storeOf({ d: { id: 'c', at: 9 }, c: { id: 'b', at: 5 }, b: { id: 'a', at: 2 }, a: null })
  const ids = async (limit: number) => (await lineageOf(store, 'd', { limit })).map(({ id }) => id)
  expect([await ids(1), await ids(2), await ids(3), await ids(4)]).toEqual([
    ['c'],
    ['c', 'b'],
    ['c', 'b', 'a'],
    ['c', 'b', 'a'],
  ])
  await expect(lineageOf(store, 'd', { limit: 0 })).rejects.toThrow("'limit'")
})
