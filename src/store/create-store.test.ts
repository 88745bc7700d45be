import { expect, test } from 'vitest'
import { silentLogger } from '../base/logger.ts'
import { createStore } from './create-store.ts'
import { memoryDriver } from './memory/memory-store.ts'

test('closing waits for the one operation that is under way, for every caller, and then closes the driver', async () => {
  const driver = memoryDriver()
  const happened: string[] = []
  let finish = (): void => {}
  const held = new Promise<void>((resolve) => {
    finish = resolve
  })
  const store = createStore(
    {
      ...driver,
      getConversation: async (tenant, id) => {
        await held
        happened.push('read')
        return driver.getConversation(tenant, id)
      },
      close: async () => {
        happened.push('closed')
        await driver.close()
      },
    },
    { logger: silentLogger, expiry: false },
  )
  const reading = store.getConversation('c1')
  const closing = [store.close(), store.close()].map((close) => close.then(() => happened.push('told')))
  await new Promise((resolve) => setImmediate(resolve))
  expect(happened).toEqual([])
  await expect(store.getConversation('c2')).rejects.toMatchObject({ code: 'store_closed' })
  finish()
  expect(await reading).toBeNull()
  await Promise.all(closing)
  expect(happened.toSorted()).toEqual(['closed', 'read', 'told', 'told'])
  expect(happened[0]).toBe('read')
})

test('closing waits for the last of several operations, also where one fails', async () => {
  const driver = memoryDriver()
  const reads = new Map<string, PromiseWithResolvers<null>>()
  let isClosed = false
  const store = createStore(
    {
      ...driver,
      getConversation: (_, id) => {
        const read = Promise.withResolvers<null>()
        reads.set(id, read)
        return read.promise
      },
      close: async () => {
        isClosed = true
        await driver.close()
      },
    },
    { logger: silentLogger, expiry: false },
  )
  const reading = Promise.allSettled(['c1', 'c2'].map((id) => store.getConversation(id)))
  const closing = store.close()
  reads.get('c1')!.reject(new Error('away'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(isClosed).toBe(false)
  reads.get('c2')!.resolve(null)
  await closing
  expect(isClosed).toBe(true)
  expect(await reading).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled' }])
})
