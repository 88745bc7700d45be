import { createHash } from 'node:crypto'
import { ImportInvalidError } from '../base/errors/store-errors.ts'
import type { ConversationRow } from '../store/upkeep.ts'
import { ImportLine, type Line, readLines } from './import-line.ts'
import { rowIn } from './import-rows.ts'

/** The lines of an export in order, checked against its counts and digests. */
export class ImportSource {
  readonly #lines: AsyncGenerator<Line>
  readonly #whole = createHash('sha256')
  #count = 0
  #number = 0

  constructor(chunks: AsyncIterable<Uint8Array | string>) {
    this.#lines = readLines(chunks)
  }

  async header(): Promise<void> {
    const line = await this.#take()
    line.checkHeader()
  }

  /** Null after the line that ends the export. Throws when that line is missing or does not match the lines before it. */
  async next(): Promise<ImportLine | null> {
    const line = await this.#take()
    if (line.type !== 'end') {
      this.#hash(line)
      return line
    }
    if (line.whole('lines') !== this.#count || line.string('sha256') !== this.#whole.digest('hex')) {
      throw line.invalid('its count or digest does not match the lines before it')
    }
    const more = await this.#lines.next()
    if (!more.done) throw new ImportInvalidError(more.value.number, 'it comes after the end of the export')
    return null
  }

  /** The rows after a conversation's line. Throws when they do not match the digest in the export. */
  async *rows(conversation: ImportLine): AsyncGenerator<ConversationRow> {
    const digest = createHash('sha256').update(conversation.text)
    const id = conversation.string('id')
    let count = 0
    let seq = 0
    for (;;) {
      const line = await this.#take()
      const row = rowIn(line, id)
      if (!row) {
        checkEnd(line, { rows: count, sha256: digest.digest('hex') })
        this.#hash(line)
        return
      }
      if (row.type === 'event') {
        if (row.row.seq !== seq + 1)
          throw line.invalid(`event ${row.row.seq} comes after event ${seq}; examine the store it is from`)
        seq = row.row.seq
      }
      count += 1
      digest.update(line.text)
      this.#hash(line)
      yield row
    }
  }

  async close(): Promise<void> {
    await this.#lines.return(undefined)
  }

  #hash(line: ImportLine): void {
    this.#count += 1
    this.#whole.update(line.text)
  }

  async #take(): Promise<ImportLine> {
    const next = await this.#lines.next()
    if (next.done) throw new ImportInvalidError(this.#number + 1, 'it is missing: the export is cut off')
    this.#number = next.value.number
    return new ImportLine(next.value)
  }
}

function checkEnd(line: ImportLine, expected: { readonly rows: number; readonly sha256: string }): void {
  if (line.type !== 'conversation_end') throw line.invalid(`it is a '${line.type}' among the rows of a conversation`)
  if (line.whole('rows') !== expected.rows || line.string('sha256') !== expected.sha256) {
    throw line.invalid('the rows of this conversation do not match their count or digest')
  }
}
