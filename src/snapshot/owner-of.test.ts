import { expect, test } from 'vitest'
import { memoryStore } from '../store/memory/memory-store.ts'
import { ownerOf } from './owner-of.ts'

const said = (who: string) => ({
  type: 'user_msg' as const,
  content: { turnId: who, message: { parts: [] }, options: {}, who },
})

async function started() {
  const store = memoryStore()
  await store.commit('c', { events: [said('ann'), said('bob')], conversation: { owner: 'cid' }, wakeAt: null })
  return store
}

test('a conversation belongs to the owner that its row names', async () => {
  expect(await ownerOf(await started(), 'c')).toBe('cid')
})

test('a conversation whose row names no owner belongs to the person who spoke first', async () => {
  const store = await started()
  const standing = async () => ({ ...(await store.standing('c'))!, owner: null })
  expect(await ownerOf({ standing, streamEvents: store.streamEvents }, 'c')).toBe('ann')
})

test('a conversation that is not there belongs to no one', async () => {
  expect(await ownerOf(await started(), 'other')).toBe(null)
})
