import { expect, test } from 'vitest'
import { silentLogger } from '../../src/logger/logger.ts'
import { createStore } from '../../src/store/create-store.ts'
import { prepareChange } from '../../src/store/prepare-change.ts'
import { memoryDriver } from '../../src/stores/memory/memory-driver.ts'
import { startServer } from './start-server.ts'

test('a turn behind an event that the node does not know is not said to be missing', async () => {
  const driver = memoryDriver()
  const store = createStore(driver, { logger: silentLogger })
  const { client } = await startServer({ runtime: () => ({ store }) })
  const chat = client.conversation('c', { agent: 'helper' })
  await chat.outcome((await chat.send('Hi')).turnId)
  await expect(chat.outcome('other')).rejects.toMatchObject({ code: 'turn_not_found' })

  const later = [{ type: 'from_the_future', content: '{}' }]
  await driver.commit('default', 'c', { ...prepareChange({ events: [] }), events: later })
  const content = { turnId: 'other', message: { parts: [] }, options: {}, who: 'ann' }
  await store.commit('c', { events: [{ type: 'user_msg', content }] })
  expect(await chat.outcome('other')).toMatchObject({ status: 'detached' })
})
