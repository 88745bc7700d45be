import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import type { PageBounds } from '../../store/store.ts'

/** A page of a list whose items are judged one by one. */
export type JudgedPage<Item> = Item[] & {
  /** Only where `authorize` judges each item: pass it as `before` for the next page; null when there is none. A page may be short, or empty, and not the last. */
  readonly before?: string | null
}

/** Something that a list has: a conversation or session by its id, what waits by that of its call. */
export type ListItem = { readonly id: string } | { readonly callId: string }

/** The `before` of the store for the items after a given one. */
export function placeOf(item: ListItem): string {
  return 'callId' in item ? item.callId : item.id
}

type Bounds = PageBounds & { readonly before?: string }

type Judged<Item> = {
  /** A page of everything, which the store bounds. */
  readonly read: (bounds: Bounds) => Promise<readonly Item[]>
  readonly allows: (item: Item) => Promise<boolean>
  /** Seals the ids that cursors are made of. */
  readonly cursors: Cursors
  /** Which list this is, and for whom. A cursor is valid for nothing else. */
  readonly use: string
}

/** How many items are looked at for each one that a page may have. */
const lookedAtPerItem = 10
const judgedAtOnce = 16

/** The items that are allowed, out of at most ten times as many as the page may have. */
export async function judgedPage<Item extends ListItem>(
  { read, allows, cursors, use }: Judged<Item>,
  { limit, maxBytes, before }: Bounds & { readonly limit: number },
): Promise<JudgedPage<Item>> {
  const found: Item[] = []
  const bytes = maxBytes === undefined ? {} : { maxBytes }
  let last = before === undefined ? undefined : cursors.open(before, use)
  let left = limit * lookedAtPerItem
  while (left > 0 && found.length < limit) {
    const most = Math.min(limit, left)
    const items = await readAfter(read, { limit: most, ...bytes, ...(last === undefined ? {} : { before: last }) })
    const taken = await takeAllowed(items, allows, found, limit)
    last = taken ?? last
    left -= items.length
    const final = items.at(-1)
    const isWhole = found.length < limit || (final !== undefined && taken === placeOf(final))
    const isLast = items.length === 0 || (maxBytes === undefined && items.length < most)
    if (isLast && isWhole) return withBefore(found, null)
    // Each read is bounded in bytes, so a page has what one of them has.
    if (maxBytes !== undefined && found.length > 0) break
  }
  return withBefore(found, last === undefined ? null : cursors.seal(last, use))
}

/** Not enumerable: the page is a plain list to all that copy or compare it. */
function withBefore<Item>(found: Item[], before: string | null): JudgedPage<Item> {
  return Object.defineProperty(found, 'before', { value: before })
}

/** The place that a cursor stands for may be gone. Which one that was is not told. */
async function readAfter<Item>(read: Judged<Item>['read'], bounds: Bounds): Promise<readonly Item[]> {
  try {
    return await read(bounds)
  } catch (error) {
    const { code } = Object(error) as { readonly code?: unknown }
    if (bounds.before === undefined || (code !== 'conversation_not_found' && code !== 'call_not_found')) throw error
    throw new InvalidArgumentError('before', 'stands for a place that is gone; begin with the first page')
  }
}

/** Adds what is allowed, up to the limit. Returns the place of the last item that was looked at. */
async function takeAllowed<Item extends ListItem>(
  items: readonly Item[],
  allows: (item: Item) => Promise<boolean>,
  found: Item[],
  limit: number,
): Promise<string | undefined> {
  let last: string | undefined
  for (let from = 0; from < items.length && found.length < limit; from += judgedAtOnce) {
    const some = items.slice(from, from + judgedAtOnce)
    const verdicts = await Promise.all(some.map(allows))
    for (const [index, item] of some.entries()) {
      if (found.length === limit) return last
      if (verdicts[index]) found.push(item)
      last = placeOf(item)
    }
  }
  return last
}

/** Hides ids in cursors: the last item that was looked at may be one that the caller must not know of. */
export class Cursors {
  readonly #key: Buffer

  /** Of 32 bytes. A cursor is good in processes with the same key. */
  constructor(key: Buffer) {
    this.#key = key
  }

  seal(id: string, use: string): string {
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(use))
    const text = Buffer.from(id)
    // Of one length: that of the longest id and its own length.
    const padded = Buffer.concat([Buffer.from([text.byteLength]), text, Buffer.alloc(255 - text.byteLength)])
    const sealed = Buffer.concat([iv, cipher.update(padded), cipher.final(), cipher.getAuthTag()])
    return sealed.toString('base64url')
  }

  open(cursor: string, use: string): string {
    try {
      const sealed = Buffer.from(cursor, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(0, 12)).setAAD(Buffer.from(use))
      decipher.setAuthTag(sealed.subarray(-16))
      const padded = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])
      return padded.subarray(1, 1 + padded[0]!).toString()
    } catch {
      throw new InvalidArgumentError('before', 'is not a cursor of this list; begin with the first page')
    }
  }
}
