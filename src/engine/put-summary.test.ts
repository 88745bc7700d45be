import { expect, test } from 'vitest'
import { silentLogger } from '../base/logger.ts'
import { memoryStore } from '../store/memory/memory-store.ts'
import { titled, userMsg } from '../testing/conformance/event-builders.ts'
import { putFurthest } from './put-summary.ts'

const summary = (toSeq: number) => ({ fromSeq: 1, toSeq, content: `up to ${toSeq}`, version: 1, base: null })

test('a summary that one further on has outrun is left aside', async () => {
  const store = memoryStore({ logger: silentLogger })
  await store.commit('chat', { events: [userMsg(), titled('A'), titled('B')] })
  expect(await putFurthest(store, 'chat', summary(3))).toBe(true)
  expect(await putFurthest(store, 'chat', summary(2))).toBe(false)
  expect(await store.latestSummary('chat')).toEqual(summary(3))
  await expect(putFurthest(store, 'chat', summary(9))).rejects.toMatchObject({ code: 'invalid_argument' })
  await store.close()
})
