import { createHash } from 'node:crypto'
import type { Store } from '../store/store.ts'
import type { UpkeepReader } from '../store/upkeep.ts'
import { blobLine, conversationLine, rowLine, snapshotLine, tombstoneLine } from './export-line.ts'
import { hashIn, idIn } from './import-rows.ts'
import { ImportSource } from './import-source.ts'
import { upkeepOf } from './maintenance.ts'

/** Something that only one side has, or that differs. */
export type Difference = {
  readonly tenant: string
  readonly what: 'blob' | 'conversation' | 'snapshot' | 'tombstone'
  readonly id: string
  /** `store`: only the store has it. `export`: only the export has it. `both`: they differ. */
  readonly has: 'store' | 'export' | 'both'
}

/**
 * Compares a store with an export, item by item in their common order, in constant memory. When nothing is reported, both are identical apart from leases.
 * Waits for the promise that `onDifference` returns.
 */
export async function differencesWith(
  store: Pick<Store, 'upkeep'>,
  chunks: AsyncIterable<Uint8Array | string>,
  onDifference: (difference: Difference) => unknown,
  { tenant }: { readonly tenant?: string } = {},
): Promise<number> {
  return upkeepOf(store).snapshot(async (reader) => {
    const ours = contentOfStore(reader, tenant ?? null)
    const theirs = contentOfExport(chunks)
    let count = 0
    const report = async ({ tenant: of, what, id }: ContentItem, has: Difference['has']): Promise<void> => {
      count += 1
      await onDifference({ tenant: of, what, id, has })
    }
    let [left, right] = [await ours.next(), await theirs.next()]
    while (!left.done || !right.done) {
      const order = left.done ? 1 : right.done ? -1 : Buffer.compare(left.value.key, right.value.key)
      if (order < 0) await report(left.value!, 'store')
      else if (order > 0) await report(right.value!, 'export')
      else if (left.value!.digest !== right.value!.digest) await report(left.value!, 'both')
      if (order <= 0) left = await ours.next()
      if (order >= 0) right = await theirs.next()
    }
    return count
  })
}

/** One item of a store's content, with its place in the order of exports. */
type ContentItem = {
  readonly tenant: string
  readonly what: 'blob' | 'conversation' | 'snapshot' | 'tombstone'
  readonly id: string
  /** Sorts by bytes, as exports do. */
  readonly key: Buffer
  readonly digest: string
}

async function* contentOfStore(reader: UpkeepReader, only: string | null): AsyncGenerator<ContentItem> {
  for await (const tenant of reader.tenants()) {
    if (only !== null && only !== tenant) continue
    for await (const blob of reader.blobs(tenant)) {
      const bytes = await reader.blobBytes(tenant, blob.hash)
      if (bytes) yield item(tenant, 'blob', blob.hash, sha256(blobLine(blob, bytes.byteLength)))
    }
    for await (const conversation of reader.conversations(tenant)) {
      const digest = createHash('sha256').update(conversationLine(conversation))
      for await (const row of reader.rows(tenant, conversation.id)) digest.update(rowLine(row))
      yield item(tenant, 'conversation', conversation.id, digest.digest('hex'))
    }
    for await (const { id, snapshot } of reader.snapshots(tenant)) {
      yield item(tenant, 'snapshot', id, sha256(snapshotLine(id, snapshot)))
    }
    for await (const tombstone of reader.tombstones(tenant)) {
      yield item(tenant, 'tombstone', tombstone.id, sha256(tombstoneLine(tombstone)))
    }
  }
}

async function* contentOfExport(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<ContentItem> {
  const source = new ImportSource(chunks)
  try {
    await source.header()
    let tenant = ''
    for (let line = await source.next(); line !== null; line = await source.next()) {
      if (line.type === 'tenant') tenant = idIn(line, 'tenant')
      else if (line.type === 'blob') yield item(tenant, 'blob', hashIn(line), sha256(line.text))
      else if (line.type === 'snapshot' || line.type === 'tombstone') {
        yield item(tenant, line.type, idIn(line, 'id'), sha256(line.text))
      } else if (line.type === 'conversation') {
        const digest = createHash('sha256').update(line.text)
        for await (const row of source.rows(line)) digest.update(rowLine(row))
        yield item(tenant, 'conversation', idIn(line, 'id'), digest.digest('hex'))
      } else if (line.type !== 'bytes') throw line.invalid(`a '${line.type}' has no place here`)
    }
  } finally {
    await source.close()
  }
}

const places = { blob: 0, conversation: 1, snapshot: 2, tombstone: 3 }

function item(tenant: string, what: ContentItem['what'], id: string, digest: string): ContentItem {
  // Ids contain no NUL, so a tenant sorts before every longer name that starts with it.
  return { tenant, what, id, key: Buffer.from(`${tenant}\0${places[what]}${id}`), digest }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
