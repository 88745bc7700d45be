import { createHash, type Hash } from 'node:crypto'
import {
  blobLine,
  bytesLine,
  conversationEndLine,
  conversationLine,
  endLine,
  rowLine,
  snapshotLine,
  tenantLine,
} from './export-line.ts'
import type { Visitor } from './walk-store.ts'

const bytesPerLine = 192 * 1024
const bytesPerWrite = 64 * 1024

/** Gets text in pieces; what it returns is waited for, so that a slow reader slows the export and fills no memory. */
export type Sink = (text: string) => void | Promise<void>

/** Writes what it is told of as lines of an export, and counts and hashes them. */
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

  /** Of the conversation that ended last. */
  get conversationDigest(): string {
    return this.#conversationDigest
  }

  tenant(tenant: string) {
    return this.#write(tenantLine(tenant))
  }

  async blob(...[blob, bytes]: Parameters<NonNullable<Visitor['blob']>>) {
    // Without its bytes it is lost; the doctor tells.
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

  /** Before anything else, and not part of what is hashed. */
  header(line: string) {
    this.#buffer += line
  }

  /** Must be called last. Returns the digest of all that the store holds. */
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
