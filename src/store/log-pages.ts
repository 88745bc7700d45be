import { setImmediate as nextMacrotask } from 'node:timers/promises'
import { pause } from '../base/abort.ts'
import { Backoff, type Clock } from '../base/clock.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { StoreError } from '../base/errors/store-errors.ts'
import { errorText } from '../base/redact/redactor.ts'
import type { LogEvent } from '../log/events.ts'
import { maxStoredEventBytes } from './checks.ts'
import type { StoredEvent } from './driver.ts'
import { decodeEvent } from './rows.ts'
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
    await yieldToEventLoop()
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
    await yieldToEventLoop()
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

/** Whether a page that begins at a known event is of the log it is known from: that may have been deleted, and another begun under its name. */
export function isSameLog({ seq, at }: EventPlace, { first }: Pick<EventPage, 'first'>): boolean {
  return first?.seq === seq && first.at === at
}

/** Whether a log that was read in several pages is still the one that the first of them was of. */
export async function isStillThere(store: TenantStore, id: string, known: EventPlace): Promise<boolean> {
  return isSameLog(known, await store.pageEvents(id, { after: known.seq - 1, before: known.seq + 1 }))
}

/** What a driver read, as a page of the range it was asked for. */
export function eventPage(id: string, rows: readonly StoredEvent[], range: EventRange): EventPage {
  return {
    events: { [Symbol.iterator]: () => decoded(id, rows) },
    first: placeOf(rows[0]),
    last: placeOf(rows.at(-1)),
    hasMore: rows.length > 0 && hasMore(rows, range),
  }
}

function placeOf(row: StoredEvent | undefined): EventPlace | null {
  return row ? { seq: row.seq, at: row.at } : null
}

function* decoded(id: string, rows: readonly StoredEvent[]): Generator<LogEvent> {
  for (const row of rows) yield decodeEvent(id, row)
}

function hasMore(
  rows: readonly StoredEvent[],
  { after = 0, before, limit, maxBytes, keep = 'newest' }: EventRange,
): boolean {
  // A log has no gaps.
  if (keep === 'newest') return rows[0]!.seq > after + 1
  if (before !== undefined && rows.at(-1)!.seq >= before - 1) return false
  return rows.length === limit || (maxBytes !== undefined && mayBeCut(rows, maxBytes))
}

/** A page has as many events as fit, so one that has room for the largest was not cut. A UTF-16 unit has at most three bytes in UTF-8. */
function mayBeCut(rows: readonly StoredEvent[], maxBytes: number): boolean {
  let units = 0
  for (const { content } of rows) units += content.length
  return units * 3 + maxStoredEventBytes > maxBytes
}

/** A backend that answers at once would keep everybody else of the process waiting until the last page. */
const longestMs = 10
let othersAt = 0
/** The turn of the loop that was given away last. */
let given: Promise<void> = Promise.resolve()

/** All rows of a list that is read page by page. `fetch` gets the last row of the page before; a short page is the last. */
export async function* forEachPage<Row>(
  limit: number,
  fetch: (last: Row | null) => Row[] | Promise<Row[]>,
): AsyncGenerator<Row> {
  let last: Row | null = null
  for (;;) {
    await yieldToEventLoop()
    const page: Row[] = await fetch(last)
    yield* page
    if (page.length < limit) return
    last = page.at(-1)!
  }
}

/**
 * Lets the rest of the process have its turn, where this has gone on for a while. Of those that call it only one goes on with each turn of the loop: many at once that go
 * on together would keep everybody else waiting for all of them.
 */
export async function yieldToEventLoop(): Promise<void> {
  if (performance.now() - othersAt < longestMs) return
  given = given.then(() => nextMacrotask())
  await given
  othersAt = performance.now()
}

/** When whoever holds a log has to read it again: others have appended to it, or the store has failed, and is left alone for a while first. */
export class LogReading {
  readonly #clock: Clock
  readonly #backoff = new Backoff()
  #hintedSeq = 0
  #isDemanded = false
  #problem: PerdureError | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whatever has been heard of it, it must be read. */
  get isDemanded(): boolean {
    return this.#isDemanded
  }

  /** 0 when the last thing that was tried went well. */
  get waitMs(): number {
    return this.#backoff.waitMs
  }

  /** What the store failed with, until it takes a write. */
  get problem(): PerdureError | null {
    return this.#problem
  }

  /** Somebody appended. */
  hint(seq: number): void {
    this.#hintedSeq = Math.max(this.#hintedSeq, seq)
  }

  isHinted(lastSeq: number): boolean {
    return this.#hintedSeq > lastSeq
  }

  isDue(lastSeq: number): boolean {
    return this.#isDemanded || this.isHinted(lastSeq)
  }

  demand(): void {
    this.#isDemanded = true
  }

  async pause(): Promise<void> {
    const { waitMs } = this.#backoff
    if (waitMs > 0) await pause(waitMs, { clock: this.#clock, unref: true })
  }

  /** Rejects as `read` does, and then it is still to be read. */
  async run(read: () => Promise<void>): Promise<void> {
    const hintedSeq = this.#hintedSeq
    // The log that is read now has all that was heard of by now, or that was of one which is no more.
    this.#hintedSeq = 0
    try {
      await read()
    } catch (error) {
      this.hint(hintedSeq)
      throw error
    }
    this.#isDemanded = false
    this.#backoff.hasRead()
  }

  hasWritten(): void {
    this.#problem = null
    this.#backoff.hasWritten()
  }

  /** The store failed: what is known may be wrong. */
  hasFailed(error: unknown): void {
    this.#problem = PerdureError.isInstance(error) ? error : new StoreError(errorText(error), { cause: error })
    this.#isDemanded = true
    this.#backoff.failed()
  }
}
