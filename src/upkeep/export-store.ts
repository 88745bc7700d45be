import { createHash, type Hash } from 'node:crypto'
import { checkId } from '../store/checks.ts'
import type { Store } from '../store/store.ts'
import type { BlobHead, ConversationRow, Tombstone, UpkeepConversation, UpkeepReader } from '../store/upkeep.ts'
import {
  blobLine,
  bytesLine,
  conversationEndLine,
  conversationLine,
  endLine,
  headerLine,
  rowLine,
  snapshotLine,
  tenantLine,
  tombstoneLine,
} from './export-line.ts'
import { type OnProgress, upkeepOf } from './maintenance.ts'

/** What `exportStore` exports, and its progress callback. */
export type ExportOptions = {
  /** Only this tenant. Default: all tenants. */
  readonly tenant?: string
  readonly onProgress?: OnProgress
}

/** What `exportStore` wrote. */
export type Exported = {
  readonly conversations: number
  /** The digest of everything exported. Equal data has an equal digest, on any backend. */
  readonly digest: string
}

/**
 * Writes everything in a store as JSON lines, as it is at one moment, while other processes keep writing. Leases are left out. The same data gives the same
 * bytes. Needs as much memory as the largest blob.
 */
export async function exportStore(
  store: Pick<Store, 'upkeep'>,
  sink: Sink,
  { tenant, onProgress }: ExportOptions = {},
): Promise<Exported> {
  if (tenant !== undefined) checkId('tenant', tenant)
  return upkeepOf(store).snapshot(async (reader) => {
    const writer = new ExportWriter(sink)
    const total = await reader.count(tenant ?? null)
    let rows = 0
    const reportProgress = (): void => onProgress?.({ done: writer.conversations, total, rows })
    reportProgress()
    writer.header(headerLine(tenant ?? null))
    await walkStore(reader, tenant ?? null, {
      tenant: (found) => writer.tenant(found),
      blob: (blob, bytes) => writer.blob(blob, bytes),
      conversation: (conversation, of) => writer.conversation(conversation, of),
      row(row) {
        rows += 1
        if (rows % 1_000 === 0) reportProgress()
        return writer.row(row)
      },
      async conversationEnd() {
        await writer.conversationEnd()
        reportProgress()
      },
      snapshot: (id, snapshot) => writer.snapshot(id, snapshot),
      tombstone: (tombstone) => writer.tombstone(tombstone),
    })
    return { digest: await writer.end(), conversations: writer.conversations }
  })
}

const bytesPerLine = 192 * 1024
const bytesPerWrite = 64 * 1024

/** Receives text in pieces. The export waits for the returned promise, so a slow reader slows it down instead of filling memory. */
export type Sink = (text: string) => void | Promise<void>

/** Writes everything it visits as lines of an export, and counts and hashes them. */
export class ExportWriter implements Required<Visitor> {
  readonly #sink: Sink
  readonly #whole = createHash('sha256')
  #part: Hash = createHash('sha256')
  #buffer = ''
  #lines = 0
  #rows = 0
  #conversations = 0
  #conversationDigest = ''

  constructor(sink: Sink) {
    this.#sink = sink
  }

  get conversations(): number {
    return this.#conversations
  }

  /** The digest of the conversation that ended last. */
  get conversationDigest(): string {
    return this.#conversationDigest
  }

  tenant(tenant: string) {
    return this.#write(tenantLine(tenant))
  }

  async blob(...[blob, bytes]: Parameters<NonNullable<Visitor['blob']>>) {
    // A blob without bytes is lost; the doctor reports it.
    if (!bytes) return
    await this.#write(blobLine(blob, bytes.byteLength))
    for (let from = 0; from < bytes.byteLength; from += bytesPerLine) {
      await this.#write(bytesLine(bytes.subarray(from, from + bytesPerLine)))
    }
  }

  conversation(...[conversation]: Parameters<NonNullable<Visitor['conversation']>>) {
    this.#part = createHash('sha256')
    this.#rows = 0
    return this.#write(conversationLine(conversation))
  }

  row(row: Parameters<NonNullable<Visitor['row']>>[0]) {
    this.#rows += 1
    return this.#write(rowLine(row))
  }

  conversationEnd() {
    this.#conversations += 1
    this.#conversationDigest = this.#part.digest('hex')
    this.#part = createHash('sha256')
    return this.#write(conversationEndLine({ rows: this.#rows, sha256: this.#conversationDigest }))
  }

  snapshot(id: string, snapshot: string) {
    return this.#write(snapshotLine(id, snapshot))
  }

  tombstone(tombstone: Tombstone) {
    return this.#write(tombstoneLine(tombstone))
  }

  /** Must come first; it is not part of the digest. */
  header(line: string) {
    this.#buffer += line
  }

  /** Must be called last. Returns the digest of everything in the store. */
  async end(): Promise<string> {
    const sha256 = this.#whole.digest('hex')
    this.#buffer += endLine({ conversations: this.#conversations, lines: this.#lines, sha256 })
    await this.#flush()
    return sha256
  }

  #write(line: string): void | Promise<void> {
    this.#lines += 1
    this.#whole.update(line)
    this.#part.update(line)
    this.#buffer += line
    if (this.#buffer.length >= bytesPerWrite) return this.#flush()
  }

  async #flush(): Promise<void> {
    const text = this.#buffer
    this.#buffer = ''
    await this.#sink(text)
  }
}

/** Visits everything in a store, in one order that does not depend on the backend. The walk waits for returned promises. */
type Visitor = {
  tenant?(tenant: string): Wait
  blob?(blob: BlobHead, bytes: Uint8Array | null): Wait
  conversation?(conversation: UpkeepConversation, tenant: string): Wait
  /** A row of the conversation visited last. */
  row?(row: ConversationRow): Wait
  conversationEnd?(): Wait
  snapshot?(id: string, snapshot: string): Wait
  tombstone?(tombstone: Tombstone): Wait
}

type Wait = void | Promise<void>

/** `tenant` null: all tenants. The blobs of a tenant come first, before the rows that refer to them. */
export async function walkStore(reader: UpkeepReader, tenant: string | null, visitor: Visitor): Promise<void> {
  for await (const found of reader.tenants()) {
    if (tenant === null || tenant === found) await walkTenant(reader, found, visitor)
  }
}

async function walkTenant(reader: UpkeepReader, tenant: string, visitor: Visitor): Promise<void> {
  await visitor.tenant?.(tenant)
  for await (const blob of reader.blobs(tenant)) {
    await visitor.blob?.(blob, await reader.blobBytes(tenant, blob.hash))
  }
  for await (const conversation of reader.conversations(tenant)) {
    await visitor.conversation?.(conversation, tenant)
    for await (const row of reader.rows(tenant, conversation.id)) {
      await visitor.row?.(row)
    }
    await visitor.conversationEnd?.()
  }
  for await (const { id, snapshot } of reader.snapshots(tenant)) await visitor.snapshot?.(id, snapshot)
  for await (const tombstone of reader.tombstones(tenant)) await visitor.tombstone?.(tombstone)
}
