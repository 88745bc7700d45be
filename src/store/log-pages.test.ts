import { expect, test } from 'vitest'
import { isSameLog, isStillThere, logPages, pagesAfter, pagesFrom } from './log-pages.ts'
import type { EventPage, EventRange, TenantStore } from './store.ts'

/** A log of so many events, which gives two of them at a time. */
function logOf(count: number) {
  const asked: EventRange[] = []
  const store = {
    async pageEvents(_id: string, range: EventRange = {}) {
      asked.push(range)
      const { after = 0, before = count + 1, keep = 'newest' } = range
      const seqs = Array.from({ length: count }, (_, index) => index + 1).filter((seq) => seq > after && seq < before)
      const events = (keep === 'oldest' ? seqs.slice(0, 2) : seqs.slice(-2)).map((seq) => ({ seq, at: seq * 10 }))
      return { events, first: events[0] ?? null, last: events.at(-1) ?? null, hasMore: events.length < seqs.length }
    },
  } as unknown as TenantStore
  return { store, asked }
}

async function seqsOf(pages: AsyncIterable<EventPage>): Promise<number[][]> {
  const all: number[][] = []
  for await (const { events } of pages) all.push([...events].map(({ seq }) => seq))
  return all
}

test('a log is read onwards page by page, within bounds, and an empty one is one page', async () => {
  const { store, asked } = logOf(5)
  expect(await seqsOf(pagesAfter(store, 'c'))).toEqual([[1, 2], [3, 4], [5]])
  expect(asked[0]).toEqual({ limit: 1_000, maxBytes: 3 * 1024 * 1024, after: 0, keep: 'oldest' })
  expect(await seqsOf(pagesAfter(store, 'c', { after: 2, before: 5 }))).toEqual([[3, 4]])
  expect(await seqsOf(pagesAfter(logOf(0).store, 'c'))).toEqual([[]])
})

test('a page is followed by the rest of its log', async () => {
  const { store, asked } = logOf(4)
  const first = await store.pageEvents('c', { keep: 'oldest' })
  expect(await seqsOf(pagesFrom(store, 'c', first))).toEqual([
    [1, 2],
    [3, 4],
  ])
  const last = await store.pageEvents('c', { after: 2, keep: 'oldest' })
  const before = asked.length
  expect(await seqsOf(pagesFrom(store, 'c', last))).toEqual([[3, 4]])
  expect(asked).toHaveLength(before)
})

test('without a place to begin after, a log is read back from its end', async () => {
  const { store } = logOf(5)
  expect(await seqsOf(logPages(store, 'c'))).toEqual([[4, 5], [2, 3], [1]])
  expect(await seqsOf(logPages(store, 'c', { before: 4 }))).toEqual([[2, 3], [1]])
  expect(await seqsOf(logPages(store, 'c', { after: 3 }))).toEqual([[4, 5]])
  expect(await seqsOf(logPages(logOf(0).store, 'c'))).toEqual([[]])
})

test('a log is still there when the event at that place is of that time', async () => {
  const { store } = logOf(5)
  expect(await isStillThere(store, 'c', { seq: 3, at: 30 })).toBe(true)
  expect(await isStillThere(store, 'c', { seq: 3, at: 31 })).toBe(false)
  expect(await isStillThere(store, 'c', { seq: 6, at: 60 })).toBe(false)
})

test('a page is of the log that is known when it begins with the event that is known', () => {
  const known = { seq: 3, at: 30 }
  expect(isSameLog(known, { first: { seq: 3, at: 30 } })).toBe(true)
  expect(isSameLog(known, { first: { seq: 3, at: 31 } })).toBe(false)
  expect(isSameLog(known, { first: { seq: 4, at: 30 } })).toBe(false)
  expect(isSameLog(known, { first: null })).toBe(false)
})
