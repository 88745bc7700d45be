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

/** How much of a log is in memory at once while it is read. Two events of any size fit: a known one that identifies the log, and the next. */
export const readBounds = { limit: 1_000, maxBytes: 3 * 1024 * 1024 }

/** Pages of a log from `after` onwards, however long it is. The first page comes even when it is empty. */
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

/** The given page, then the pages after it. */
export async function* pagesFrom(
  store: TenantStore,
  id: string,
  first: EventPage,
): AsyncGenerator<EventPage, void, void> {
  yield first
  if (first.hasMore && first.last) yield* pagesAfter(store, id, { after: first.last.seq })
}

/** Pages of a log backwards from `before`, or from its end; within a page events ascend. */
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

/** Pages of a log: onwards from `after` when it is given, else backwards from the end. */
export function logPages(
  store: TenantStore,
  id: string,
  range: Pick<EventRange, 'after' | 'before'> = {},
): AsyncGenerator<EventPage, void, void> {
  return range.after === undefined ? pagesBefore(store, id, range) : pagesAfter(store, id, range)
}

/** Whether a page that starts at a known event is of the same log: the log may have been deleted, and another created under its name. */
export function isSameLog({ seq, at }: EventPlace, { first }: Pick<EventPage, 'first'>): boolean {
  return first?.seq === seq && first.at === at
}

/** Whether a log that was read in several pages is still the same log. */
export async function isStillThere(store: TenantStore, id: string, known: EventPlace): Promise<boolean> {
  return isSameLog(known, await store.pageEvents(id, { after: known.seq - 1, before: known.seq + 1 }))
}

/** The rows that a driver read, as a page of the requested range. */
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

/** A page has as many events as fit, so one with room for the largest event was not cut. A UTF-16 unit has at most three bytes in UTF-8. */
function mayBeCut(rows: readonly StoredEvent[], maxBytes: number): boolean {
  let units = 0
  for (const { content } of rows) units += content.length
  return units * 3 + maxStoredEventBytes > maxBytes
}

/** A backend that answers immediately would keep the rest of the process waiting until the last page. */
const longestMs = 10
let othersAt = 0
/** Resolves when the last caller that yielded may continue. */
let lastYield: Promise<void> = Promise.resolve()

/** All rows of a list that is read page by page. `fetch` gets the last row of the previous page; a short page is the last. */
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
 * Yields to the event loop when this process has been busy for a while. Only one caller continues per turn of the loop: if many continued together, the rest of
 * the process would wait for all of them.
 */
export async function yieldToEventLoop(): Promise<void> {
  if (performance.now() - othersAt < longestMs) return
  lastYield = lastYield.then(() => nextMacrotask())
  await lastYield
  othersAt = performance.now()
}

/** Tracks when a lease holder must re-read its log: after another process has appended to it, or after the store has failed, which is first given a pause. */
export class LogReading {
  readonly #clock: Clock
  readonly #backoff = new Backoff()
  #hintedSeq = 0
  #isDemanded = false
  #problem: PerdureError | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the log must be read no matter which hints arrived. */
  get isDemanded(): boolean {
    return this.#isDemanded
  }

  /** 0 when the last attempt succeeded. */
  get waitMs(): number {
    return this.#backoff.waitMs
  }

  /** The store's last failure, until a write succeeds. */
  get problem(): PerdureError | null {
    return this.#problem
  }

  /** Another process appended events. */
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

  /** Rejects as `read` does; the log must then still be read. */
  async run(read: () => Promise<void>): Promise<void> {
    const hintedSeq = this.#hintedSeq
    // The read covers everything hinted so far. A hint past it was about a log that no longer exists.
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

  /** The store failed, so what this process knows of the log may be wrong. */
  hasFailed(error: unknown): void {
    this.#problem = PerdureError.isInstance(error) ? error : new StoreError(errorText(error), { cause: error })
    this.#isDemanded = true
    this.#backoff.failed()
  }
}
