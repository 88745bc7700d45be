import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { NewEvent } from '../../log/events.ts'
import type { Store, WakeHint } from '../store.ts'
import { sqliteStore } from './sqlite-store.ts'

let folder: string
let path: string
let stores: Store[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-'))
  path = join(folder, 'store.db')
  stores = []
})

afterEach(async () => {
  for (const store of stores) await store.close()
  rmSync(folder, { recursive: true })
})

test('ten stores that open a new file at once all find it ready', async () => {
  const seqs = await Promise.all(Array.from({ length: 10 }, () => open().appendEvent('chat', hello)))
  expect(seqs.toSorted((left, right) => left - right)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})

test('a write waits for another connection without blocking the event loop', async () => {
  const store = open()
  await store.appendEvent('chat', hello)
  const release = lock()
  let isWritten = false
  const writing = store.appendEvent('chat', hello).then(() => {
    isWritten = true
  })
  await sleep(30)
  expect(isWritten).toBe(false)
  expect(await store.streamEvents('chat')).toHaveLength(1)
  release()
  await writing
  expect(await store.streamEvents('chat')).toHaveLength(2)
})

test('a store that cannot be opened yet because it is locked opens when it is free', async () => {
  await open().appendEvent('chat', hello)
  await stores.pop()?.close()
  const release = lock('EXCLUSIVE')
  const reading = open().streamEvents('chat')
  await sleep(20)
  release()
  expect(await reading).toHaveLength(1)
})

test('a caller that waited too long gets a busy error, and nothing is written', async () => {
  const store = open({ busyTimeoutMs: 20 })
  await store.appendEvent('chat', hello)
  const release = lock()
  await expect(store.appendEvent('chat', hello)).rejects.toMatchObject({ code: 'store_busy', retryable: true })
  release()
  expect(await store.appendEvent('chat', hello)).toBe(2)
})

test('hints tell of the events of another connection, each conversation once, and not of its own', async () => {
  const [store, other] = [open(), open()]
  await other.appendEvent('before', hello)
  const hints: WakeHint[] = []
  const unsubscribe = store.onWake((hint) => hints.push(hint))
  await store.forTenant('t').appendEvent('own', hello)
  await Promise.all([other.appendEvent('chat', hello), other.appendEvent('chat', hello)])
  await vi.waitFor(() => expect(hints.map(({ id }) => id)).toContain('chat'), { timeout: 20_000 })
  expect(hints.filter(({ id }) => id === 'chat')).toEqual([{ tenant: 'default', id: 'chat', seq: 2 }])
  expect(hints.map(({ id }) => id)).not.toContain('before')
  unsubscribe()
})

test('an event that follows a deleted one is hinted at', async () => {
  const [store, other] = [open(), open()]
  await other.appendEvent('short-lived', hello)
  const hints: WakeHint[] = []
  store.onWake((hint) => hints.push(hint))
  await other.deleteConversation('short-lived')
  await other.appendEvent('chat', hello)
  await vi.waitFor(() => expect(hints).toEqual([{ tenant: 'default', id: 'chat', seq: 1 }]), { timeout: 20_000 })
})

const hello: NewEvent = { type: 'titled', content: { title: 'hello' } }

function open(options: { busyTimeoutMs?: number } = {}): Store {
  const store = sqliteStore({ path, ...options })
  stores.push(store)
  return store
}

function lock(mode: 'IMMEDIATE' | 'EXCLUSIVE' = 'IMMEDIATE'): () => void {
  const database = new DatabaseSync(path)
  if (mode === 'EXCLUSIVE') database.exec('PRAGMA locking_mode = EXCLUSIVE')
  database.exec(`BEGIN ${mode}; UPDATE meta SET value = value`)
  return () => {
    database.exec('ROLLBACK')
    database.close()
  }
}
