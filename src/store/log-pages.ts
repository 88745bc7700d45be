import { letOthers } from './page-through.ts'
import type { EventPage, EventPlace, EventRange, TenantStore } from './store.ts'

/** How much of a log is in memory at once while it is read through. Two events of any size fit: one that is known, to tell the log by, and the next. */
export const readBounds = { limit: 1_000, maxBytes: 3 * 1024 * 1024 }

/** A log onwards from `after`, however long it is, page by page. The first page is there also when it is empty. */
export async function* pagesAfter(
  store: TenantStore,
  id: string,
  { after = 0, before }: Pick<EventRange, 'after' | 'before'> = {},
): AsyncGenerator<EventPage, void, void> {
  const end = before === undefined ? {} : { before }
  for (let from = after; ; ) {
    const page = await store.pageEvents(id, { ...readBounds, ...end, after: from, keep: 'oldest' })
    yield page
    if (!page.hasMore || !page.last) return
    from = page.last.seq
    await letOthers()
  }
}

/** The rest of what a page begins, the page itself first. */
export async function* pagesFrom(
  store: TenantStore,
  id: string,
  first: EventPage,
): AsyncGenerator<EventPage, void, void> {
  yield first
  if (first.hasMore && first.last) yield* pagesAfter(store, id, { after: first.last.seq })
}

/** A log back from `before`, else from its end, page by page, each in its own order. */
async function* pagesBefore(
  store: TenantStore,
  id: string,
  { after, before }: Pick<EventRange, 'after' | 'before'> = {},
): AsyncGenerator<EventPage, void, void> {
  const start = after === undefined ? {} : { after }
  for (let end = before; ; ) {
    const page = await store.pageEvents(id, { ...readBounds, ...start, ...(end === undefined ? {} : { before: end }) })
    yield page
    if (!page.hasMore || !page.first) return
    end = page.first.seq
    await letOthers()
  }
}

/** A log by pages: onwards from `after` where it is given, else back from the end. */
export function logPages(
  store: TenantStore,
  id: string,
  range: Pick<EventRange, 'after' | 'before'> = {},
): AsyncGenerator<EventPage, void, void> {
  return range.after === undefined ? pagesBefore(store, id, range) : pagesAfter(store, id, range)
}

/** Whether a log that was read in several pages is still the one that the first of them was of: it may have been deleted and begun anew. */
export async function isStillThere(store: TenantStore, id: string, { seq, at }: EventPlace): Promise<boolean> {
  const { first } = await store.pageEvents(id, { after: seq - 1, before: seq + 1 })
  return first?.at === at
}
