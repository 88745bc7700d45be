import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createStore } from '../../src/store/create-store.ts'
import { memoryDriver } from '../../src/store/memory/memory-store.ts'
import { prepareChange } from '../../src/store/prepare-change.ts'
import { type Started, startServer } from './start-server.ts'

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

test.each([
  ['watched before', true],
  ['not watched yet', false],
])('a page is not told either that the turn it has sent is missing: %s', async (_, isWatched) => {
  const driver = memoryDriver()
  const store = createStore(driver, { logger: silentLogger })
  const started = await startServer({ runtime: () => ({ store }) })
  expect((await say(started, 'm1', 'Hi')).status).toBe(200)
  if (!isWatched) await started.server.close({ drainMs: 0 })
  const later = [{ type: 'from_the_future', content: '{}' }]
  await driver.commit('default', 'c', { ...prepareChange({ events: [] }), events: later })
  const now = isWatched ? started : await startServer({ runtime: () => ({ store }) })
  const response = await say(now, 'm2', 'And now?')
  expect(response.status).toBe(500)
  expect(await response.json()).toMatchObject({ code: 'event_unknown' })
})

async function say({ server }: Started, id: string, text: string): Promise<Response> {
  const message = { id, role: 'user', parts: [{ type: 'text', text }] }
  const body = JSON.stringify({ id: 'c', trigger: 'submit-message', messages: [message] })
  const response = await fetch(`${server.url}/ui/helper`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  return new Response(await response.text(), response)
}
