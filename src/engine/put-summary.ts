import { SummaryOverlapError, SummarySupersededError } from '../base/errors/store-errors.ts'
import type { NewSummary } from '../store/records.ts'
import type { TenantStore } from '../store/store.ts'

/**
 * Stores a summary from the start of the log. False if another process has stored one that reaches further, which then counts; and if turns
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
