import { SummaryOverlapError } from '../base/errors/store-errors.ts'
import type { Summary } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'

/** Puts a summary from the start of the log. False when one that reaches further was put meanwhile: that one counts, whichever process put it. */
export async function putFurthest(store: TenantStore, id: string, summary: Summary): Promise<boolean> {
  try {
    await store.putSummary(id, summary)
    return true
  } catch (error) {
    if (error instanceof SummaryOverlapError) return false
    throw error
  }
}
