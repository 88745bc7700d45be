import { checkId } from '../store/checks.ts'
import type { Store } from '../store/store.ts'
import { headerLine } from './export-line.ts'
import { ExportWriter, type Sink } from './export-writer.ts'
import type { OnProgress } from './progress.ts'
import { upkeepOf } from './upkeep-of.ts'
import { walkStore } from './walk-store.ts'

/** What of a store is exported, and who is told. */
export type ExportOptions = {
  /** Only this one. Default: all. */
  readonly tenant?: string
  readonly onProgress?: OnProgress
}

/** What `exportStore` wrote. */
export type Exported = {
  readonly conversations: number
  /** Of all that is exported. Equal data has the same, on whatever backend it is. */
  readonly digest: string
}

/**
 * Writes everything in a store as JSON lines, as it is at one moment, while others go on writing. Leases are left out. The same data gives the same
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
    const tell = (): void => onProgress?.({ done: writer.conversations, total, rows })
    tell()
    writer.header(headerLine(tenant ?? null))
    await walkStore(reader, tenant ?? null, {
      tenant: (found) => writer.tenant(found),
      blob: (blob, bytes) => writer.blob(blob, bytes),
      conversation: (conversation, of) => writer.conversation(conversation, of),
      row(row) {
        rows += 1
        if (rows % 1_000 === 0) tell()
        return writer.row(row)
      },
      async conversationEnd() {
        await writer.conversationEnd()
        tell()
      },
      snapshot: (id, snapshot) => writer.snapshot(id, snapshot),
    })
    return { digest: await writer.end(), conversations: writer.conversations }
  })
}
