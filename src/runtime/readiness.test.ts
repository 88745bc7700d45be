import { expect, test } from 'vitest'
import type { Store } from '../store/store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { readinessOf } from './readiness.ts'

const answering = { getConversation: async () => null } as unknown as Store
const failing = { getConversation: () => Promise.reject(new Error('down')) } as unknown as Store
const silent = { getConversation: () => new Promise(() => {}) } as unknown as Store
const worker = { isClosed: false, isStuck: () => false }
const asked = { store: answering, clock: fakeClock(), worker, timeoutMs: 100 }

test('a process is ready when its store answers and its worker works, or it has none', async () => {
  expect(await readinessOf(asked)).toEqual({ isReady: true, store: 'ok', worker: 'ok' })
  expect(await readinessOf({ ...asked, worker: null })).toEqual({ isReady: true, store: 'ok', worker: 'off' })
})

test('it is not ready while its worker is stuck or closed', async () => {
  const stuck = { isClosed: false, isStuck: () => true }
  expect(await readinessOf({ ...asked, worker: stuck })).toEqual({ isReady: false, store: 'ok', worker: 'stuck' })
  const closed = { isClosed: true, isStuck: () => true }
  expect(await readinessOf({ ...asked, worker: closed })).toEqual({ isReady: false, store: 'ok', worker: 'closed' })
})

test('it is not ready while its store fails or is silent, and the wait has an end', async () => {
  expect(await readinessOf({ ...asked, store: failing })).toEqual({ isReady: false, store: 'failed', worker: 'ok' })
  const clock = fakeClock()
  const asking = readinessOf({ ...asked, clock, store: silent, worker: null })
  await clock.advance(100)
  expect(await asking).toEqual({ isReady: false, store: 'silent', worker: 'off' })
})
