import { expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import { memoryStore } from './memory-store.ts'

test('a delivery that fails after its subscriber has stopped naming its type is not listed as failed', async () => {
  const store = memoryStore({ logger: silentLogger })
  const outbox = store.outbox!
  const named = (...types: ('titled' | 'note')[]) => outbox.register([{ name: 'x', types, agent: null }])
  await named('titled', 'note')
  for (const title of ['one', 'two']) await store.appendEvent('chat', { type: 'titled', content: { title } })
  await store.appendEvent('chat', { type: 'note', content: { name: 'n', data: null, who: 'ann' } })
  const [delivery] = await outbox.claim({ subscribers: ['x'], limit: 1, leaseMs: 60_000, lapsed: false })
  expect(delivery?.seq).toBe(1)
  await named('note')
  await outbox.settle(delivery!, { type: 'failed', error: 'no' })
  expect(await outbox.failed()).toEqual([])
  await store.close()
})
