import { expect, test } from 'vitest'
import { placed, said } from '../../../test/log/story.ts'
import { silentLogger } from '../../base/logger.ts'
import { emptyState } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import { projectView, type WatchEvent } from '../../view/growing-view.ts'
import type { View } from '../../view/view.ts'
import { viewOf } from '../../view/view-of.ts'
import { defaultLimits } from '../server-options.ts'
import { Feed } from './feed.ts'

const question = placed([said('t1')])

/** A conversation in which something is written all the time. */
function chattering(deltas: number): Conversation {
  async function* watch(): AsyncGenerator<WatchEvent, void, void> {
    yield { type: 'snapshot', view: projectView(viewOf('story', emptyState), question[0]!) }
    const base = { type: 'text_delta', conversationId: 'story', seq: 1, turnId: 't1', messageId: 'm1' } as const
    for (let n = 1; n <= deltas; n++) yield { ...base, n, part: 'text-0', delta: 'x' }
  }
  return { id: 'story', watch, events: async () => question } as unknown as Conversation
}

test('who follows is told what is shown now, and then of everything after it, in order', async () => {
  const feed = new Feed(chattering(1_000), defaultLimits, silentLogger, () => {})
  const followers = Array.from({ length: 20 }, async (_, index) => {
    for (let n = 0; n < index * 20; n++) await Promise.resolve()
    const told: number[] = []
    const ended = Promise.withResolvers<void>()
    const next = ({ drafts }: View) => void told.push(drafts[0]?.n ?? 0)
    const followed = await feed.follow(1, { next, beat: () => {}, end: ended.resolve, replaced: () => {} })
    if (!followed) return null
    await ended.promise
    expect(followed.view.drafts[0]?.n ?? 0).toBe(told[0])
    return told
  })
  const all = (await Promise.all(followers)).flatMap((told) => (told ? [told] : []))
  expect(all.length).toBeGreaterThan(3)
  for (const told of all) expect(told).toEqual(told.map((_, index) => told[0]! + index))
  for (const told of all) expect(told.at(-1)).toBe(1_000)
})
