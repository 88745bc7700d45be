import { createHash } from 'node:crypto'
import { ImportExistsError } from '../base/errors/store-errors.ts'
import { decoded, openerIn, rowSize } from '../store/rows.ts'
import type { Store } from '../store/store.ts'
import type { ConversationRow, RestoredConversation, RestoreOutcome, Upkeep } from '../store/upkeep.ts'
import type { ImportLine } from './import-line.ts'
import { conversationIn, hashIn, idIn } from './import-rows.ts'
import { ImportSource } from './import-source.ts'
import { type OnProgress, upkeepOf } from './maintenance.ts'

/** What to do with conversations that exist already, and a progress callback. */
export type ImportOptions = {
  /** Skips conversations that the store has already, so that an interrupted import can be run again. Default: an existing conversation is refused. */
  readonly skipExisting?: boolean
  readonly onProgress?: OnProgress
}

/** What `importStore` wrote. */
export type Imported = { readonly conversations: number; readonly skipped: number }

/** Conversations up to this size are written several at a time; a longer one is written alone, as it is read. */
const heldBytes = 256 * 1024
const atOnce = 16

/**
 * Reads an export into a store, each conversation whole or not at all, with its times, deadlines and wake-ups: due work continues as soon as a runtime opens
 * the store. Rejects at the first line that does not match the export; conversations before it stay.
 */
export async function importStore(
  store: Pick<Store, 'upkeep'>,
  chunks: AsyncIterable<Uint8Array | string>,
  options: ImportOptions = {},
): Promise<Imported> {
  const source = new ImportSource(chunks)
  const restoring = new Restoring(upkeepOf(store), options)
  try {
    await source.header()
    let tenant: string | null = null
    for (let line = await source.next(); line !== null; line = await source.next()) {
      if (line.type === 'tenant') tenant = idIn(line, 'tenant')
      else if (tenant === null) throw line.invalid('it comes before any tenant')
      else await restoring.take(line, tenant, source)
    }
    await restoring.settled()
    return restoring.result
  } catch (error) {
    await restoring.abandoned()
    throw error
  } finally {
    await source.close()
  }
}

/** Writes conversations as they are read, several at once. */
class Restoring {
  readonly #upkeep: Upkeep
  readonly #options: ImportOptions
  readonly #underWay = new Set<Promise<void>>()
  #failure: { readonly error: unknown } | null = null
  #conversations = 0
  #skipped = 0
  #rows = 0

  constructor(upkeep: Upkeep, options: ImportOptions) {
    this.#upkeep = upkeep
    this.#options = options
  }

  get result(): Imported {
    return { conversations: this.#conversations, skipped: this.#skipped }
  }

  async take(line: ImportLine, tenant: string, source: ImportSource): Promise<void> {
    switch (line.type) {
      case 'blob':
        return this.#blob(line, tenant, source)
      case 'conversation':
        return this.#conversation(line, tenant, source)
      case 'snapshot':
        return this.#snapshot(line, tenant)
      case 'tombstone':
        return this.#upkeep.restoreTombstone(tenant, { id: idIn(line, 'id'), at: line.whole('at') })
      default:
        throw line.invalid(`a '${line.type}' has no place here`)
    }
  }

  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
    if (this.#failure) throw this.#failure.error
  }

  async abandoned(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  async #blob(line: ImportLine, tenant: string, source: ImportSource): Promise<void> {
    const hash = hashIn(line)
    const size = line.whole('size')
    const parts: Buffer[] = []
    for (let length = 0; length < size; length += parts.at(-1)!.byteLength) {
      const part = await source.next()
      if (part?.type !== 'bytes') throw line.invalid(`the bytes of blob ${hash} do not follow it`)
      parts.push(Buffer.from(part.string('data'), 'base64'))
      if (parts.at(-1)!.byteLength === 0) throw part.invalid('it has no bytes')
    }
    const bytes = Buffer.concat(parts)
    if (bytes.byteLength !== size || createHash('sha256').update(bytes).digest('hex') !== hash) {
      throw line.invalid(`blob ${hash} does not match its hash; examine the store it was exported from`)
    }
    await this.#upkeep.restoreBlob(tenant, {
      hash,
      mediaType: idIn(line, 'mediaType'),
      pins: line.whole('pins'),
      bytes,
    })
  }

  async #snapshot(line: ImportLine, tenant: string): Promise<void> {
    const id = idIn(line, 'id')
    const isNew = await this.#upkeep.restoreSnapshot(tenant, id, line.json('snapshot'))
    if (!isNew && !this.#options.skipExisting) throw new ImportExistsError(tenant, `a snapshot '${id}'`)
  }

  async #conversation(line: ImportLine, tenant: string, source: ImportSource): Promise<void> {
    const written = conversationIn(line)
    const rows = source.rows(line)
    const held: ConversationRow[] = []
    const conversation = () => (line.has('owner') ? written : { ...written, owner: ownerIn(held) })
    let size = 0
    while (size <= heldBytes) {
      const next = await rows.next()
      if (next.done) return this.#beside(() => this.#restore(line, tenant, conversation(), listed(held)))
      held.push(next.value)
      size += rowSize(next.value)
    }
    await this.settled()
    const known = conversation()
    const rest = joined(held, rows)
    await this.#restore(line, tenant, known, rest)
    // A skipped conversation still has unread rows.
    for await (const _ of rest);
  }

  async #beside(work: () => Promise<void>): Promise<void> {
    while (this.#underWay.size >= atOnce) await Promise.race(this.#underWay)
    if (this.#failure) throw this.#failure.error
    const task: Promise<void> = work()
      .catch((error: unknown) => {
        this.#failure ??= { error }
      })
      .finally(() => this.#underWay.delete(task))
    this.#underWay.add(task)
  }

  async #restore(
    line: ImportLine,
    tenant: string,
    conversation: RestoredConversation,
    rows: AsyncIterable<ConversationRow>,
  ): Promise<void> {
    const counted = this.#counted(rows)
    const outcome = await this.#upkeep.restoreConversation(tenant, conversation, counted)
    this.#checkOutcome(line, tenant, conversation.id, outcome)
    this.#reportProgress()
  }

  #checkOutcome(line: ImportLine, tenant: string, id: string, outcome: RestoreOutcome): void {
    switch (outcome.type) {
      case 'ok':
        this.#conversations += 1
        return
      case 'exists':
        if (!this.#options.skipExisting) throw new ImportExistsError(tenant, `the conversation '${id}'`)
        this.#skipped += 1
        return
      case 'call_exists':
        throw new ImportExistsError(tenant, `the call '${outcome.callId}' of '${id}' in another conversation`)
      case 'blob_missing':
        throw line.invalid(
          `'${id}' refers to blob ${outcome.hash}, which is not in the export, or has been removed since`,
        )
    }
  }

  async *#counted(rows: AsyncIterable<ConversationRow>): AsyncGenerator<ConversationRow> {
    for await (const row of rows) {
      this.#rows += 1
      if (this.#rows % 1_000 === 0) this.#reportProgress()
      yield row
    }
  }

  #reportProgress(): void {
    this.#options.onProgress?.({ done: this.#conversations + this.#skipped, total: null, rows: this.#rows })
  }
}

async function* listed(rows: readonly ConversationRow[]): AsyncGenerator<ConversationRow> {
  yield* rows
}

async function* joined(held: ConversationRow[], rest: AsyncIterable<ConversationRow>): AsyncGenerator<ConversationRow> {
  yield* held.splice(0)
  yield* rest
}

/** Exports of older versions do not say who opened a conversation; its first events do, and they come first. */
function ownerIn(rows: readonly ConversationRow[]): string | null {
  const events = rows.flatMap(({ type, row }) =>
    type === 'event' && openingTypes.has(row.type) ? [{ type: row.type, content: decoded(row.content) }] : [],
  )
  return openerIn(events)
}

const openingTypes: ReadonlySet<string> = new Set(['user_msg', 'flow_started'])
