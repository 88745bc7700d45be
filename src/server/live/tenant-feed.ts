import { randomBytes } from 'node:crypto'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Logger } from '../../base/logger.ts'
import { jsonText } from '../../log/codec.ts'
import { withoutContent } from '../../runtime/read/lists.ts'
import type { ChangedRow, TenantChanges } from '../../runtime/read/tenant-changes.ts'
import type { ConversationRecord } from '../../store/records.ts'
import { listEntry, sessionEntry } from '../routes/pages.ts'

/** Changes of a conversation within this time are sent as one. */
const collectMs = 50
/** Few, because each row may have settings of a megabyte. */
const rowsAtOnce = 20
/** What hints missed is looked for this often, that far back. */
const sweepMs = 5_000
const sweepBackMs = 15_000
const mostSwept = 10_000
const mostDirty = 20_000
const mostEntries = 2_000
/** What the kept entries may take, their settings included. Beyond that, the oldest are dropped. */
const mostBytes = 16 * 1024 * 1024
const retryMs = 1_000

/** A change that clients receive. `was`: the row as known before, or null. `row` is null if it is gone. */
export type FeedEntry = {
  readonly index: number
  readonly id: string
  readonly row: ChangedRow | null
  readonly was: ConversationRecord | null
  readonly frame: Uint8Array
  /** About what it takes in memory. */
  readonly bytes: number
  /** Without what is said in it, for callers who may list it and not read it. */
  readonly bareFrame: () => Uint8Array
}

/** How far a client has read: everything before `at` by the server's clock, and the entries of this feed up to `index`. */
export type FeedPlace = { readonly at: number; readonly feed: string; readonly index: number }

/**
 * The changes of one tenant, shared by all its clients on this server: each row is read and encoded once. Clients keep only their place, so a slow one costs
 * nothing; one that falls behind the kept changes must begin anew.
 */
export class TenantFeed {
  readonly name = randomBytes(5).toString('hex')
  readonly #changes: TenantChanges
  readonly #logger: Logger
  readonly #clients = new Set<() => void>()
  readonly #onIdle: () => void
  readonly #dirty = new Set<string>()
  readonly #newest = new Map<string, FeedEntry>()
  readonly #stopListening: () => void
  readonly #sweeps: NodeJS.Timeout
  #entries: FeedEntry[] = []
  #bytes = 0
  #lastIndex = 0
  #reading: Promise<unknown> = Promise.resolve()
  #collecting: NodeJS.Timeout | null = null
  #isReading = false
  #isClosed = false

  /** `onIdle` is called each time the last client leaves. */
  constructor(changes: TenantChanges, logger: Logger, onIdle: () => void) {
    this.#changes = changes
    this.#logger = logger
    this.#onIdle = onIdle
    this.#stopListening = changes.onChange((id) => this.#mark(id))
    this.#sweeps = setInterval(() => void this.#sweep(), sweepMs)
    this.#sweeps.unref()
  }

  get clients(): number {
    return this.#clients.size
  }

  get lastIndex(): number {
    return this.#lastIndex
  }

  /** Calls back after each new entry. Returns what ends that. */
  join(onGrown: () => void): () => void {
    this.#clients.add(onGrown)
    return () => {
      if (this.#clients.delete(onGrown) && this.#clients.size === 0) this.#onIdle()
    }
  }

  /** The entries after `index`, each conversation once. Null if some have been dropped. */
  after(index: number): readonly FeedEntry[] | null {
    const missed = this.#lastIndex - index
    if (missed < 0 || missed > this.#entries.length) return null
    const entries = missed === 0 ? [] : this.#entries.slice(-missed)
    return entries.filter((entry) => this.#newest.get(entry.id) === entry)
  }

  /**
   * Reads rows for one client that was away, as entries of the place where it begins, and has `use` make of them what is kept. One client at a time, and few rows
   * at once: a row may be large.
   */
  read<T>(ids: readonly string[], index: number, use: (entries: readonly FeedEntry[]) => Promise<T>): Promise<T> {
    const read = this.#reading.then(async () => {
      const rows = new Map((await this.#changes.rows(ids)).map((row) => [row.record.id, row]))
      const known = (id: string) => this.#newest.get(id)?.row?.record ?? null
      return use(ids.map((id) => this.#entry(id, rows.get(id) ?? null, known(id), index)))
    })
    this.#reading = read.catch(() => {})
    return read
  }

  close(): void {
    this.#isClosed = true
    this.#stopListening()
    clearInterval(this.#sweeps)
    if (this.#collecting) clearTimeout(this.#collecting)
    for (const onGrown of [...this.#clients]) onGrown()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  #mark(id: string): void {
    if (this.#isClosed) return
    this.#dirty.add(id)
    if (this.#dirty.size > mostDirty) this.#forget()
    this.#collect(collectMs)
  }

  #collect(ms: number): void {
    if (this.#isReading || this.#isClosed) return
    this.#collecting ??= setTimeout(() => {
      this.#collecting = null
      void this.#readDirty()
    }, ms).unref()
  }

  async #readDirty(): Promise<void> {
    this.#isReading = true
    let pauseMs = collectMs
    const ids = [...this.#dirty].slice(0, rowsAtOnce)
    try {
      for (const id of ids) this.#dirty.delete(id)
      const rows = new Map((await this.#changes.rows(ids)).map((row) => [row.record.id, row]))
      for (const id of ids) this.#add(id, rows.get(id) ?? null)
    } catch (error) {
      for (const id of ids) this.#dirty.add(id)
      pauseMs = retryMs
      this.#failed(error)
    } finally {
      this.#isReading = false
      if (this.#dirty.size > 0) this.#collect(pauseMs)
    }
  }

  #add(id: string, row: ChangedRow | null): void {
    const known = this.#newest.get(id)
    // A hint may arrive twice, and a sweep also finds changes that hints have announced.
    if (known && isSame(known.row, row)) return
    this.#lastIndex += 1
    const entry = this.#entry(id, row, known?.row?.record ?? known?.was ?? null, this.#lastIndex)
    this.#entries.push(entry)
    this.#bytes += entry.bytes
    this.#newest.set(id, entry)
    while (this.#entries.length > mostEntries || (this.#bytes > mostBytes && this.#entries.length > 1)) {
      const old = this.#entries.shift()!
      this.#bytes -= old.bytes
      if (this.#newest.get(old.id) === old) this.#newest.delete(old.id)
    }
    for (const onGrown of [...this.#clients]) onGrown()
  }

  #entry(id: string, row: ChangedRow | null, was: ConversationRecord | null, index: number): FeedEntry {
    const place = { at: Date.now(), feed: this.name, index }
    const frame = feedFrame(row ? frameOf(row) : { type: 'gone', id }, place)
    return {
      index,
      id,
      row,
      was,
      frame,
      bytes: frame.byteLength + sizeOf(row?.record ?? null) + sizeOf(was),
      bareFrame: () => (row ? feedFrame(frameOf(withoutMessage(row)), place) : frame),
    }
  }

  async #sweep(): Promise<void> {
    if (this.#clients.size === 0) return
    try {
      const ids = await this.#changes.since(Date.now() - sweepMs - sweepBackMs, mostSwept)
      for (const id of ids ?? []) this.#mark(id)
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    if (PerdureError.isInstance(error) && error.code === 'store_closed') return this.close()
    this.#logger.warn('reading what changed for live feeds failed; trying again', { error })
  }

  /** More has changed than can be told one by one: all clients begin anew. */
  #forget(): void {
    this.#dirty.clear()
    this.#entries = []
    this.#bytes = 0
    this.#newest.clear()
    this.#lastIndex += 1
    for (const onGrown of [...this.#clients]) onGrown()
  }
}

function isSame(known: ChangedRow | null, row: ChangedRow | null): boolean {
  if (!known || !row) return known === row
  return JSON.stringify([known.listed, known.calls]) === JSON.stringify([row.listed, row.calls])
}

/** Of what an application may make large. */
function sizeOf(record: ConversationRecord | null): number {
  return record ? 2 * JSON.stringify(record.settings).length : 0
}

function frameOf({ listed, calls }: ChangedRow): object {
  return 'session' in listed
    ? { type: 'session', session: sessionEntry(listed.session), calls }
    : { type: 'conversation', record: listEntry(listed.conversation), calls }
}

function withoutMessage(row: ChangedRow): ChangedRow {
  if ('session' in row.listed) return row
  return { ...row, listed: { conversation: withoutContent(row.listed.conversation) } }
}

const encoder = new TextEncoder()

export function feedFrame(data: object, place: FeedPlace): Uint8Array {
  return encoder.encode(`id: ${formatPlace(place)}\ndata: ${jsonText(data)}\n\n`)
}

function formatPlace({ at, feed, index }: FeedPlace): string {
  return `${at.toString(36)}@${feed}.${index}`
}

/** Null when the text is not such a place. */
export function parsePlace(text: string): FeedPlace | null {
  const match = /^([0-9a-z]{1,9})@([0-9a-f]{10})\.(\d{1,15})$/.exec(text)
  return match && { at: Number.parseInt(match[1]!, 36), feed: match[2]!, index: Number(match[3]) }
}
