import { expect, test } from 'vitest'
import { overStores } from '../stories/over-stores.ts'
import { exported, importText } from './exported.ts'
import { liveIn } from './lived-in-store.ts'

overStores('an export', (story) => {
  test('of a store that was lived in gives the same bytes after an import, and again', async () => {
    const store = story.openStore()
    await liveIn(store)
    const text = await exported(store)
    const copy = story.openStore()
    const { conversations, skipped } = await importText(copy, text)
    expect([conversations, skipped]).toEqual([JSON.parse(text.trimEnd().split('\n').at(-1)!).conversations, 0])
    expect(await exported(copy)).toBe(text)
  })
})
