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
