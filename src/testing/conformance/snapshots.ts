import { userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function snapshots({ describe, test, expect }: Suite): void {
  describe('snapshots', () => {
    test('a snapshot is read back, and a later one replaces it whole', async ({ store }) => {
      expect(await store.getSnapshot('chat')).toBe(null)
      await store.putSnapshot('chat', { version: 1, state: { mood: 'good', old: true } })
      await store.putSnapshot('chat', { version: 2, state: { mood: 'better' } })
      expect(await store.getSnapshot('chat')).toEqual({ version: 2, state: { mood: 'better' } })
    })

    test('a snapshot needs no conversation and makes none', async ({ store }) => {
      await store.putSnapshot('chat', ['any', 'thing'])
      expect(await store.getSnapshot('chat')).toEqual(['any', 'thing'])
      expect(await store.getConversation('chat')).toBe(null)
      expect(await store.deleteConversation('chat')).toBe(false)
      expect(await store.getSnapshot('chat')).toBe(null)
    })

    test('a snapshot leaves the log as it was and goes with its conversation', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.appendEvent('other', userMsg())
      const before = await store.getConversation('chat')
      for (const id of ['chat', 'other']) await store.putSnapshot(id, id)
      expect(await store.getConversation('chat')).toEqual(before)
      await store.deleteConversation('chat')
      expect(await store.getSnapshot('chat')).toBe(null)
      expect(await store.getSnapshot('other')).toBe('other')
    })

    test('a snapshot of null reads like none', async ({ store }) => {
      await store.putSnapshot('chat', null)
      expect(await store.getSnapshot('chat')).toBe(null)
    })
  })
}
