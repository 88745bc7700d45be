import { expect, test, vi } from 'vitest'
import { StoreError } from '../base/errors/store-errors.ts'
import { silentLogger } from '../base/logger.ts'
import { defineFlow, type Flow } from '../define/define-flow.ts'
import { createStore } from '../store/create-store.ts'
import { memoryDriver } from '../store/memory/memory-store.ts'
import { createRuntime } from './create-runtime.ts'

const flow = defineFlow({ name: 'import', version: 1, run: async (f) => f.step('read', async () => 'read') })

test('a session that a store fails for is set aside, and lists say so until the store is well', async () => {
  const driver = memoryDriver()
  let isBroken = false
  const store = createStore({
    ...driver,
    commit: async (...args) => {
      if (isBroken) throw new StoreError('the disk is worn out', { retryable: false })
      return driver.commit(...args)
    },
  })
  const flows = [flow as unknown as Flow]
  const api = createRuntime({ agents: [], flows, store, logger: silentLogger, work: false })
  // No process works on it yet, so it would wait for good.
  const giveUp = new AbortController()
  const started = api
    .flow(flow, 's1')
    .start(null, { signal: giveUp.signal })
    .catch(() => {})
  await vi.waitFor(async () => expect((await store.getConversation('s1'))?.lastSeq).toBe(1), { timeout: 20_000 })
  giveUp.abort()
  await started
  isBroken = true
  const runtime = createRuntime({ agents: [], flows, store, logger: silentLogger, pollMs: 20 })
  const listed = async () => (await runtime.conversations())[0]
  await vi.waitFor(async () => expect(await listed()).toMatchObject({ id: 's1', problem: { code: 'store_failed' } }), {
    timeout: 20_000,
  })
  isBroken = false
  await vi.waitFor(async () => expect(await listed()).toMatchObject({ id: 's1', status: 'done' }), { timeout: 20_000 })
  expect(await listed()).not.toHaveProperty('problem')
  await runtime.close()
  await api.close()
}, 30_000)
