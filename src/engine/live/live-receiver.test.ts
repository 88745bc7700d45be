import { expect, test } from 'vitest'
import type { Channel } from './channel.ts'
import { LiveReceiver } from './live-receiver.ts'

test('text that waits for the log to grow is kept up to a bound, and then asked for anew', () => {
  let now = 0
  const announced: boolean[] = []
  // What is watched here, and driven elsewhere.
  const shown = { isShown: true, isActive: true, isOwned: false, epoch: 0, state: { lastSeq: 1 }, live: { drafts: [] } }
  const channel = { ...shown, poll() {}, receive() {} } as unknown as Channel
  const receiver = new LiveReceiver({ tenant: 'default', id: 'c1' }, channel, {
    now: () => now,
    announce: (_, isNew) => void announced.push(isNew),
    unanswered: new Map(),
  })
  const text = 'x'.repeat(100_000)
  const place = { seq: 9, turnId: 't1', messageId: 'm1', attempt: 1, kind: 'text', part: 'p', name: '' } as const
  receiver.changed()
  now += 1_000
  for (let n = 0; n < 10; n++) receiver.take(1, [{ type: 'text', ...place, at: n * text.length, text }])
  expect(announced).toEqual([true])
  receiver.take(1, [{ type: 'text', ...place, at: 10 * text.length, text }])
  expect(announced).toEqual([true, true])
})
