import { expect, test } from 'vitest'
import { cancelled, ended, placed, replied, resolved, started, succeeded, suspended } from '../../test/log/story.ts'
import type { NewEvent } from '../log/events.ts'
import { type LiveParts, nothingLive, withLive, withoutSettled } from './live-events.ts'
import type { LiveContent } from './view.ts'

const live = (parts: LiveParts, content: LiveContent) => withLive(parts, { conversationId: 'c', seq: 1, ...content })
const settled = (parts: LiveParts, event: NewEvent) => withoutSettled(parts, placed([event])[0]!)
const delta = (turnId: string, messageId: string, text = 'Once'): LiveContent => {
  return { type: 'text_delta', turnId, messageId, n: 1, part: 'p', delta: text }
}
const progress = (callId: string): LiveContent =>
  ({ type: 'tool_progress', callId, payload: { done: callId } }) as never
const writing = [delta('t1', 'm1'), delta('t2', 'm2'), progress('c1'), progress('c2')].reduce(live, nothingLive)

test('drafts grow, and one that is discarded goes alone', () => {
  expect(writing.drafts.map(({ messageId }) => messageId)).toEqual(['m1', 'm2'])
  const left = live(writing, { type: 'message_discarded', turnId: 't1', messageId: 'm1' })
  expect(left.drafts.map(({ messageId }) => messageId)).toEqual(['m2'])
  expect(left.progress).toBe(writing.progress)
  expect(live(writing, { type: 'message_discarded', turnId: 't1', messageId: 'm9' })).toBe(writing)
})

test('a later attempt at a message replaces the draft of the one before it, and an earlier one comes too late', () => {
  const second = { ...delta('t1', 'm3', 'Again'), attempt: 2 } as LiveContent
  const left = live(writing, second)
  expect(left.drafts.map(({ messageId }) => messageId)).toEqual(['m2', 'm3'])
  expect(live(left, delta('t1', 'm1'))).toBe(left)
  const grown = live(left, { ...second, n: 2, delta: ' and again' } as LiveContent)
  expect(grown.drafts.at(-1)).toMatchObject({ attempt: 2, parts: [{ text: 'Again and again' }] })
})

test('the progress of a call replaces its earlier progress, and no other call’s', () => {
  const again = live(writing, { ...progress('c1'), payload: 'more' } as never)
  expect(again.progress).toEqual({ c1: 'more', c2: { done: 'c2' } })
})

test('an activity is shown while it lasts, and other states clear it', () => {
  for (const state of ['preparing', 'streaming', 'executing_tools'] as const) {
    const busy = live(nothingLive, { type: 'phase_changed', phase: state })
    expect(busy.activity).toBe(state)
    expect(live(busy, { type: 'phase_changed', phase: state })).toBe(busy)
    expect(live(busy, { type: 'phase_changed', phase: 'idle' as never }).activity).toBe(null)
  }
  expect(live(nothingLive, { type: 'phase_changed', phase: 'idle' as never })).toBe(nothingLive)
})

test('children are shown as last announced', () => {
  const children = { waiting: [{ id: 'child' }], pending: [] } as never
  expect(live(nothingLive, { type: 'children_changed', ...(children as object) } as never).children).toEqual(children)
})

test('events that only announce what the log says change nothing', () => {
  expect(live(writing, { type: 'turn_started', turnId: 't1' } as never)).toBe(writing)
})

test('a message that is committed is no draft any more', () => {
  const left = settled(writing, replied('t1', 'm1', 1))
  expect(left.drafts.map(({ messageId }) => messageId)).toEqual(['m2'])
  expect(settled(writing, replied('t1', 'm9', 1))).toBe(writing)
})

test.each([
  ['starts', started('c1')],
  ['waits', suspended('c1', 'approval')],
  ['is answered', resolved('c1', 'approval')],
  ['has ended', succeeded('c1')],
])('the progress of a call that %s is a thing of the past', (_, event) => {
  const left = settled(writing, event)
  expect(left.progress).toEqual({ c2: { done: 'c2' } })
  expect(left.drafts).toBe(writing.drafts)
  expect(settled(left, event)).toBe(left)
})

test('the end of a turn clears its drafts, activity and progress', () => {
  const busy = live(writing, { type: 'phase_changed', phase: 'streaming' })
  expect(settled(busy, ended('t1'))).toEqual({ ...busy, activity: null, progress: {}, drafts: [busy.drafts[1]] })
  expect(settled(busy, cancelled('t1'))).toBe(busy)
})
