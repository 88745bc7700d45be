import { expect, test } from 'vitest'
import { placedEvents } from './change.ts'
import { maxStoredEventBytes } from './checks.ts'
import type { StoredEvent } from './driver.ts'
import { eventPage } from './log-pages.ts'

const rows = (from: number, to: number, content = '{"title":"a"}'): StoredEvent[] =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ seq: from + index, at: 100 + index, type: 'titled', content }))

test('a page has its events in order, and says where it begins and ends', () => {
  const page = eventPage('c1', rows(2, 3), {})
  expect([...page.events]).toEqual([
    { conversationId: 'c1', seq: 2, at: 100, type: 'titled', content: { title: 'a' } },
    { conversationId: 'c1', seq: 3, at: 101, type: 'titled', content: { title: 'a' } },
  ])
  expect([...page.events]).toHaveLength(2)
  expect([page.first, page.last]).toEqual([
    { seq: 2, at: 100 },
    { seq: 3, at: 101 },
  ])
})

test('an empty page has no others', () => {
  expect(eventPage('c1', [], { limit: 5 })).toMatchObject({ first: null, last: null, hasMore: false })
})

test('a page of the newest has more when it does not reach what the range begins after', () => {
  const more = (from: number, range: object) => eventPage('c1', rows(from, 9), range).hasMore
  expect([more(1, {}), more(2, {}), more(2, { after: 1 }), more(3, { after: 1 })]).toEqual([false, true, false, true])
})

test('a page of the oldest has more when it is full and does not reach the end of the range', () => {
  const more = (range: object) => eventPage('c1', rows(1, 3), { keep: 'oldest', ...range }).hasMore
  expect([more({ limit: 3 }), more({ limit: 4 }), more({})]).toEqual([true, false, false])
  expect([more({ limit: 3, before: 4 }), more({ limit: 3, before: 5 })]).toEqual([false, true])
})

test('a page of the oldest may have been cut by its bytes when the largest event would not have had room', () => {
  const units = 2 * '{"title":"a"}'.length
  const more = (maxBytes: number) => eventPage('c1', rows(1, 2), { keep: 'oldest', maxBytes }).hasMore
  expect([more(units * 3 + maxStoredEventBytes), more(units * 3 + maxStoredEventBytes - 1)]).toEqual([false, true])
})

test('committed events have the places the store gave them, where that is certain', () => {
  const events = [
    { type: 'titled' as const, content: { title: 'a' } },
    { type: 'titled' as const, content: { title: 'b' } },
  ]
  expect(placedEvents('c1', events, 4, { ok: true, seq: 6, at: 9 })).toEqual([
    { ...events[0], conversationId: 'c1', seq: 5, at: 9 },
    { ...events[1], conversationId: 'c1', seq: 6, at: 9 },
  ])
  expect(placedEvents('c1', [], 4, { ok: true, seq: 7, at: 9 })).toEqual([])
  expect(placedEvents('c1', events, 4, { ok: true, seq: 7, at: 9 })).toBe(null)
  expect(placedEvents('c1', events, 4, { ok: true, seq: 6 } as never)).toBe(null)
})
