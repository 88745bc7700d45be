import { expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import { RowGuards } from './pending-outcomes.ts'

const resolve = ['one', 'two', 'three'].map(
  (callId) => ({ callId, round: 1, status: 'cancelled', result: null }) as const,
)

test('a commit ends the rows of all its resolutions, until one has disagreed; then those that are pending', async () => {
  const store = memoryStore()
  await store.upsertToolCall('c1', { id: 'one' })
  await store.upsertToolCall('c1', { id: 'two', status: 'resolved' })
  await store.upsertToolCall('c1', { id: 'three', round: 2 })
  const guards = new RowGuards()
  expect(guards.guarded({ resolve })).toEqual({ resolve })
  await guards.distrust({ node: { logger: silentLogger }, ref: { tenant: 'default', id: 'c1' }, store })
  expect(guards.guarded({ resolve })).toEqual({ resolve: [resolve[0]] })
  expect(guards.guarded({})).toEqual({})
  guards.trust()
  expect(guards.guarded({ resolve })).toEqual({ resolve })
  await store.close()
})
