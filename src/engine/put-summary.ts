import { SummaryOverlapError, SummarySupersededError } from '../base/errors/store-errors.ts'
import type { NewSummary } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'

/**
 * Puts a summary from the start of the log. False when one that reaches further was put meanwhile, which then counts, whichever process put it; and when turns
 * were withdrawn since it was planned.
 */
export async function putFurthest(store: TenantStore, id: string, summary: NewSummary): Promise<boolean> {
  try {
    await store.putSummary(id, summary)
    return true
  } catch (error) {
    if (error instanceof SummaryOverlapError) return false
    if (error instanceof SummarySupersededError) return false
    throw error
  }
}
