import { expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import { memoryStore } from './memory-store.ts'

test('an event of more than 256 KiB is kept, and warned about', async () => {
  const warnings: unknown[] = []
  const store = memoryStore({ logger: { ...silentLogger, warn: (_, details) => warnings.push(details) } })
  const frame = '{"state":""}'.length
  for (const bytes of [256 * 1024, 256 * 1024 + 1]) {
    await store.appendEvent('chat', { type: 'seeded', content: { state: 'x'.repeat(bytes - frame) } })
  }
  expect((await store.streamEvents('chat')).length).toBe(2)
  expect(warnings).toEqual([{ tenant: 'default', type: 'seeded', bytes: 256 * 1024 + 1 }])
  await store.close()
})
