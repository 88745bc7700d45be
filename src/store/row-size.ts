import type { ConversationRow } from './upkeep.ts'

/** About what a row takes in memory. */
export function rowSize({ row }: ConversationRow): number {
  let size = 100
  for (const value of Object.values(row)) if (typeof value === 'string') size += value.length
  return size
}
