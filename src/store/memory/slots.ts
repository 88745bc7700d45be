import { quarantineHolder } from '../lease.ts'
import { type HeldCount, type HeldSlots, reachedLimit, type SlotLimit, type SlotLimits } from '../slots.ts'
import { type ConversationRow, isLeased, type MemoryTables } from './memory-tables.ts'

/** The limit that keeps the conversation from being claimed; null where it may be. It is counted without its own lease. */
export function limitReached(
  tables: MemoryTables,
  tenant: string,
  row: ConversationRow,
  limits: SlotLimits,
  now: number,
): SlotLimit | null {
  if (passes(row)) return null
  return reachedLimit(
    limits,
    heldBeside(tables, { tenant, agent: row.columns.agent, account: limits.account?.name ?? null, row }, now),
  )
}

/** Sessions, children and turns that are being cancelled are under no limit. */
export function passes({ columns, childOf, isTerminating }: ConversationRow): boolean {
  return columns.kind === 'flow' || childOf !== null || isTerminating
}

type Place = {
  readonly tenant: string
  readonly agent: string | null
  readonly account: string | null
  /** Not counted. */
  readonly row?: ConversationRow
}

export function heldBeside(tables: MemoryTables, { tenant, agent, account, row }: Place, now: number): HeldSlots {
  const held = { tenant: 0, agent: 0, account: 0 }
  for (const [name, other] of heldRows(tables, now)) {
    if (other === row) continue
    if (name === tenant) held.tenant += 1
    if (other.columns.agent === agent) held.agent += 1
    if (account !== null && other.lease?.account === account) held.account += 1
  }
  return held
}

/** One count for each row that holds a slot. */
export function heldCounts(tables: MemoryTables, now: number): HeldCount[] {
  return [...heldRows(tables, now)].map(([tenant, { columns, lease }]) => {
    return { tenant, agent: columns.agent ?? '', account: lease?.account ?? null, count: 1 }
  })
}

function* heldRows(tables: MemoryTables, now: number): Generator<[string, ConversationRow]> {
  for (const [tenant, { conversations }] of tables.tenants()) {
    for (const row of conversations.values()) {
      const holdsSlot =
        isLeased(row, now) && row.lease?.holder !== quarantineHolder && row.columns.kind === 'conversation'
      if (holdsSlot) yield [tenant, row]
    }
  }
}
