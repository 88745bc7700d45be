import type { ConversationRow, TenantTables } from './memory-tables.ts'

/** Remembers when a deleted conversation ended, until the clock has moved on. */
export function freeId({ freed }: TenantTables, { columns, events }: ConversationRow, now: number): void {
  for (const [id, at] of freed) if (at < now) freed.delete(id)
  freed.set(columns.id, events.at(-1)?.at ?? 0)
}

/** What is begun anew under a freed id is later than what was deleted, also in the same millisecond. */
export function eventTime({ freed }: TenantTables, id: string, now: number): number {
  return Math.max(now, 1 + (freed.get(id) ?? Number.NEGATIVE_INFINITY))
}
