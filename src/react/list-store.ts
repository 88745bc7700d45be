import type { Client, RemoteSession } from '../client/create-client.ts'
import type { RemoteRecord } from '../client/pages.ts'
import type { ListFilter, SessionFilter } from '../runtime/read/lists.ts'
import { keepByKey } from './keep-identity.ts'
import type { Change, Link } from './link.ts'
import { type LiveStatus, LiveStore } from './live-store.ts'
import { Rereading } from './rereading.ts'

/** What a page knows of a list. Items that did not change are the same objects as before. */
export type ListSnapshot<Item> = {
  readonly items: readonly Item[]
  readonly status: LiveStatus
  readonly error: unknown
  /** Whether `loadMore` has something to read. */
  readonly hasMore: boolean
  /** How many there are in all; null while only some have been read and the server has not counted them. */
  readonly total: number | null
}

/** A page of a list, newest first. */
export type ListPage<Item> = {
  readonly items: readonly Item[]
  readonly before: string | null
  readonly total?: number
}

/** Where a list comes from. */
export type ListSource<Item> = {
  read(before: string | undefined): Promise<ListPage<Item>>
  keyOf(item: Item): string
  /** What a change makes of the items that are shown, without a request: the items, or `read` where only the server knows. */
  applied(change: Exclude<Change, { type: 'reset' }>, shown: readonly Item[]): readonly Item[] | 'read'
  /** Called with the items that are no longer in the list. */
  onLeft?(items: readonly Item[]): void
}

export const noList: ListSnapshot<never> = { items: [], status: 'loading', error: null, hasMore: false, total: null }

/** Changes that come close together are read together. */
const gatherMs = 200

/** A list of the server in pages, shared by all components with the same filter. */
export class ListStore<Item> {
  readonly live: LiveStore<ListSnapshot<Item>>
  readonly #link: Link
  readonly #source: ListSource<Item>
  readonly #rereading: Rereading<ListSnapshot<Item>>
  /** Where the next page begins. Null: all have been read. Undefined: none has. */
  #next: string | null | undefined
  /** One request at a time. */
  #reading: Promise<void> = Promise.resolve()
  #isReading = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #mustReadAll = true

  constructor(link: Link, source: ListSource<Item>) {
    this.#link = link
    this.#source = source
    this.live = new LiveStore<ListSnapshot<Item>>(link.tab, noList, () => {
      const stop = this.#rereading.follow(link, (change) => this.#take(change))
      return () => {
        this.#forgetTimer()
        stop()
      }
    })
    this.#rereading = new Rereading(this.live, () => void this.#readAll())
  }

  /** Rejects when the page could not be read: what is shown stays as it is. */
  readonly loadMore = (): Promise<void> =>
    this.#alone(async () => {
      if (typeof this.#next !== 'string') return
      const { items, before, total } = await this.#source.read(this.#next)
      this.#show([...this.live.value.items, ...items], before, total ?? this.live.value.total)
    })

  /** Reads everything that is shown again, and connects again where the server has refused. */
  readonly reload = (): Promise<void> => {
    this.#link.retry()
    return this.#readAll()
  }

  /** Removes an item that is known to be gone. */
  remove(key: string): void {
    this.#set(this.live.value.items.filter((item) => this.#source.keyOf(item) !== key))
  }

  #take(change: Change): void {
    if (change.type === 'reset') return void this.#readAll()
    const applied = this.#source.applied(change, this.live.value.items)
    if (applied !== 'read') this.#set(applied)
    // What is being read may be older than the change.
    if (applied === 'read' || this.#isReading) this.#timer ??= setTimeout(() => void this.#read(), gatherMs)
  }

  #readAll(): Promise<void> {
    this.#mustReadAll = true
    return this.#read()
  }

  async #read(): Promise<void> {
    this.#forgetTimer()
    try {
      await this.#alone(() => this.#readShown())
      this.#rereading.succeeded()
    } catch (error) {
      this.#mustReadAll = true
      this.#rereading.failed(error)
    }
  }

  async #readShown(): Promise<void> {
    const mustReadAll = this.#mustReadAll
    this.#mustReadAll = false
    const first = await this.#source.read(undefined)
    const rest = this.#after(first)
    if (!mustReadAll && rest) return this.#show([...first.items, ...rest], this.#next ?? null, first.total)
    const size = this.live.value.items.length
    const items = [...first.items]
    let { before } = first
    while (before !== null && items.length < size) {
      const page = await this.#source.read(before)
      items.push(...page.items)
      before = page.before
    }
    this.#show(items, before, first.total)
  }

  /** The items that are shown after those of the first page; null where the two do not meet. */
  #after({ items, before }: ListPage<Item>): readonly Item[] | null {
    const last = items.at(-1)
    if (!last || before === null) return null
    const shown = this.live.value.items
    const place = shown.findIndex((item) => this.#source.keyOf(item) === this.#source.keyOf(last))
    return place < 0 || this.#next === undefined ? null : shown.slice(place + 1)
  }

  #show(items: readonly Item[], before: string | null, total?: number | null): void {
    this.#next = before
    this.live.set({ ...this.live.value, status: 'live', error: null, hasMore: before !== null })
    this.#set(items, total ?? null)
  }

  #set(next: readonly Item[], counted?: number | null): void {
    const { items: shown, hasMore } = this.live.value
    const { keyOf, onLeft } = this.#source
    const items = keepByKey(shown, next, keyOf)
    // What was only changed has not been counted again: each row that came or went is one more or less.
    const known = this.live.value.total
    const total = hasMore
      ? counted === undefined && known !== null
        ? known + items.length - shown.length
        : (counted ?? null)
      : items.length
    if (items !== shown || total !== this.live.value.total) this.live.set({ ...this.live.value, items, total })
    if (items === shown || !onLeft) return
    const keys = new Set(items.map(keyOf))
    const last = items.at(-1)
    // If there are more, new items have pushed the last ones off the page.
    const end = hasMore && last ? shown.findIndex((item) => keyOf(item) === keyOf(last)) : shown.length
    const left = shown.slice(0, Math.max(0, end)).filter((item) => !keys.has(keyOf(item)))
    if (left.length > 0) onLeft(left)
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    const reading = this.#reading.then(work)
    const ended = reading.catch(() => {})
    this.#reading = ended
    this.#isReading = true
    try {
      await reading
    } finally {
      if (this.#reading === ended) this.#isReading = false
    }
  }

  #forgetTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

/** Which conversations a list has. */
export type ConversationsFilter = Omit<ListFilter, 'before' | 'maxBytes'>

/** Which sessions a list has. */
export type SessionsFilter = Omit<SessionFilter, 'before' | 'maxBytes'>

export function conversationsList(client: Client, filter: ConversationsFilter): ListSource<RemoteRecord> {
  return {
    async read(before) {
      const page = await client.conversations({ ...filter, ...(before === undefined ? {} : { before }) })
      return { ...page, items: page.conversations }
    },
    keyOf: ({ id }) => id,
    applied(change, shown) {
      if (change.type === 'gone') return without(shown, change.id)
      // A row of a session has less than one of this list.
      if (change.type === 'session') return filter.kind === 'conversation' ? shown : 'read'
      const { record } = change
      return placed(shown, record, matches(record, filter) && (filter.kind ?? record.kind) === record.kind)
    },
  }
}

export function sessionsList(client: Client, filter: SessionsFilter): ListSource<RemoteSession> {
  return {
    async read(before) {
      const page = await client.sessions({ ...filter, ...(before === undefined ? {} : { before }) })
      return { ...page, items: page.sessions }
    },
    keyOf: ({ id }) => id,
    applied(change, shown) {
      if (change.type === 'gone') return without(shown, change.id)
      return change.type === 'session' ? placed(shown, change.session, matches(change.session, filter)) : shown
    },
  }
}

function without<Row extends { readonly id: string }>(shown: readonly Row[], id: string): readonly Row[] {
  return shown.filter((row) => row.id !== id)
}

/** Rows are in the order of their creation, so one that is shown keeps its place. */
function placed<Row extends { readonly id: string }>(
  shown: readonly Row[],
  row: Row,
  isIn: boolean,
): readonly Row[] | 'read' {
  if (!isIn) return without(shown, row.id)
  return shown.some(({ id }) => id === row.id) ? shown.map((other) => (other.id === row.id ? row : other)) : 'read'
}

type Filterable = {
  readonly id: string
  readonly title: string | null
  readonly parent?: { readonly id: string } | null
}

/** As the server decides. */
function matches(row: Filterable, { text, forkOf, limit: _, kind: __, ...same }: FilterFields): boolean {
  const isNamed =
    text === undefined || [row.id, row.title ?? ''].some((name) => name.toLowerCase().includes(text.toLowerCase()))
  const isFork = forkOf === undefined || row.parent?.id === forkOf
  const fields = Object.entries(same).filter(([, value]) => value !== undefined)
  return isNamed && isFork && fields.every(([name, value]) => row[name as keyof Filterable] === value)
}

type FilterFields = {
  readonly text?: string
  readonly forkOf?: string
  readonly limit?: number
  readonly kind?: string
}
