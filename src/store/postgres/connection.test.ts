import type { ClientBase, PoolClient } from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { breakingAfter, discard, socketOf, withTimeout } from './connection.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function connected() {
  const done: string[] = []
  const socket = { destroy: () => void done.push('destroyed'), destroySoon: () => void done.push('destroyed soon') }
  const client = { connection: { stream: socket }, release: (isBroken: boolean) => void done.push(`out ${isBroken}`) }
  return { done, client: client as unknown as PoolClient }
}

test('a query has a time of its own', () => {
  expect(withTimeout({ text: 'SELECT 1' }, 50)).toEqual({ text: 'SELECT 1', query_timeout: 50 })
})

test('a connection whose work takes too long is broken; one that is done in time, or fails, is not', async () => {
  const slow = connected()
  const work = Promise.withResolvers<string>()
  const working = breakingAfter(slow.client as ClientBase, 100, () => work.promise)
  vi.advanceTimersByTime(99)
  expect(slow.done).toEqual([])
  vi.advanceTimersByTime(1)
  expect(slow.done).toEqual(['destroyed'])
  work.resolve('late')
  expect(await working).toBe('late')

  const quick = connected()
  expect(await breakingAfter(quick.client as ClientBase, 100, async () => 1)).toBe(1)
  await expect(breakingAfter(quick.client, 100, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  vi.advanceTimersByTime(1_000)
  expect(quick.done).toEqual([])
})

test('a connection that is discarded leaves the pool, says farewell, and is gone a second later', () => {
  const { done, client } = connected()
  discard(client)
  expect(done).toEqual(['out true', 'destroyed soon'])
  vi.advanceTimersByTime(999)
  expect(done).toHaveLength(2)
  vi.advanceTimersByTime(1)
  expect(done.at(-1)).toBe('destroyed')
})

test('one that was never connected has no socket', () => {
  expect(socketOf({} as ClientBase)).toBe(undefined)
  const released: boolean[] = []
  discard({ release: (isBroken: boolean) => void released.push(isBroken) } as unknown as PoolClient)
  vi.advanceTimersByTime(1_000)
  expect(released).toEqual([true])
})
