import type { ConversationRef } from '../../store/conversation-record.ts'
import type { Garbage, GarbageOptions } from '../../upkeep/collect-garbage.ts'
import type { Difference } from '../../upkeep/differences-with.ts'
import type { Examination, ExamineOptions } from '../../upkeep/examine-store.ts'
import type { Exported, ExportOptions } from '../../upkeep/export-store.ts'
import type { Imported, ImportOptions } from '../../upkeep/import-store.ts'
import type { Migration } from '../../upkeep/migrate-store.ts'

/** A whole store to look after, whether it is opened here or a running server has it. */
export type UpkeepTarget = {
  /** For people, without credentials. */
  readonly place: string
  /** Gives the pieces of an export to `write`, no faster than it takes them. */
  exportTo(write: Write, options: ExportOptions): Promise<Exported>
  importFrom(chunks: AsyncIterable<Uint8Array>, options: ImportOptions): Promise<Imported>
  /** What there is code for is known to the target. */
  examine(options: Omit<ExamineOptions, 'agents' | 'signal'>): Promise<Examination>
  /** Returns the number of differences. */
  compareWith(
    chunks: AsyncIterable<Uint8Array>,
    onDifference: (difference: Difference) => void,
    options: { readonly tenant?: string },
  ): Promise<number>
  /** False when it is not quarantined. */
  unquarantine(ref: ConversationRef): Promise<boolean>
  migrate(options: { readonly check: boolean }): Promise<Migration>
  collectGarbage(options: Omit<GarbageOptions, 'signal'>): Promise<Garbage>
  close(): Promise<void>
}

export type Write = (piece: string | Uint8Array) => Promise<void>
