import { quarantineHolder } from '../lease.ts'
import {
  type Drain,
  forgottenAfter,
  mostNodes,
  type NewDrain,
  type NodeBeat,
  type NodeState,
  type NodesDriver,
  silentAfterBeats,
  unknownNode,
} from '../nodes.ts'
import { nodeTarget, type SteeredBy } from '../steered-by.ts'
import { type ReadWorkPage, type StoredWork, type WorkRow, workRowOf } from '../work-rows.ts'
import { byteOrder, type ConversationRow, type MemoryTables } from './memory-tables.ts'
import type { MemorySteering } from './steering.ts'

type Known = NodeBeat & { readonly startedAt: number; readonly seenAt: number }

type Parts = {
  readonly tables: MemoryTables
  readonly clock: { now(): number }
  readonly steering: Pick<MemorySteering, 'record'>
}

/** The nodes of a memory store. Every method runs synchronously before it returns its promise. */
export class MemoryNodes implements NodesDriver {
  readonly #parts: Parts
  readonly #known = new Map<string, Known>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async beat(node: NodeBeat): Promise<Drain | null> {
    const now = this.#parts.clock.now()
    for (const [holder, known] of this.#known) if (isForgotten(known, now)) this.#known.delete(holder)
    const known = this.#known.get(node.holder)
    const drain = known ? known.drain : node.drain
    this.#known.set(node.holder, { ...node, drain, startedAt: known?.startedAt ?? now, seenAt: now })
    return drain
  }

  async leave(holder: string): Promise<void> {
    this.#known.delete(holder)
  }

  async list(): Promise<NodeState[]> {
    const now = this.#parts.clock.now()
    const leases = this.#leases()
    const living = [...this.#known.values()].filter((known) => !isForgotten(known, now))
    living.sort((one, other) => one.startedAt - other.startedAt)
    const states = living.map(({ everyMs, ...node }) => ({
      ...node,
      ...(leases.get(node.holder) ?? { held: 0, nextLapseAt: null }),
      isSilent: now - node.seenAt > silentAfterBeats * everyMs,
    }))
    const others = [...leases].filter(([holder]) => !states.some((state) => state.holder === holder))
    const unknown = others.map(([holder, held]) => ({ ...unknownNode, holder, ...held }))
    return [...states, ...unknown].slice(0, mostNodes)
  }

  async drain(holder: string, { who, reason, drainMs }: NewDrain): Promise<boolean> {
    const now = this.#parts.clock.now()
    const known = this.#known.get(holder)
    if (!known || isForgotten(known, now)) return false
    if (known.drain) return true
    this.#known.set(holder, { ...known, drain: { who, at: now, reason: reason ?? null, drainMs } })
    this.#parts.steering.record('drain', nodeTarget(holder), { who, ...(reason === undefined ? {} : { reason }) })
    return true
  }

  async undrain(holder: string, by: SteeredBy): Promise<boolean> {
    const known = this.#known.get(holder)
    if (!known?.drain) return false
    this.#known.set(holder, { ...known, drain: null })
    this.#parts.steering.record('undrain', nodeTarget(holder), by)
    return true
  }

  async work({ state, agent, limit, after }: ReadWorkPage): Promise<WorkRow[]> {
    const now = this.#parts.clock.now()
    const rows: WorkRow[] = []
    for (const [tenant, { conversations }] of this.#parts.tables.tenants())
      for (const row of conversations.values()) rows.push(workRowOf(storedWork(tenant, row), now))
    return rows
      .filter((row) => row.state === state && (agent === null || row.agent === agent))
      .filter((row) => after === null || inOrder(after, row) < 0)
      .sort(inOrder)
      .slice(0, limit)
  }

  async workOf(tenant: string, id: string): Promise<WorkRow | null> {
    const row = this.#parts.tables.tenant(tenant).conversations.get(id)
    return row ? workRowOf(storedWork(tenant, row), this.#parts.clock.now()) : null
  }

  #leases(): Map<string, { held: number; nextLapseAt: number }> {
    const leases = new Map<string, { held: number; nextLapseAt: number }>()
    for (const [, { conversations }] of this.#parts.tables.tenants()) {
      for (const { lease } of conversations.values()) {
        if (!lease || lease.holder === quarantineHolder) continue
        const known = leases.get(lease.holder)
        const nextLapseAt = Math.min(known?.nextLapseAt ?? lease.until, lease.until)
        leases.set(lease.holder, { held: (known?.held ?? 0) + 1, nextLapseAt })
      }
    }
    return leases
  }
}

type Place = Pick<WorkRow, 'tenant' | 'id' | 'at'>

function inOrder(one: Place, other: Place): number {
  return one.at - other.at || byteOrder(one.tenant, other.tenant) || byteOrder(one.id, other.id)
}

function storedWork(tenant: string, { columns, lease, wakeAt }: ConversationRow): StoredWork {
  const { id, agent, updatedAt } = columns
  const { holder = null, epoch = null, until = null, claimedAt = null, lapsed = [] } = lease ?? {}
  return { tenant, id, agent, wakeAt, holder, epoch, until, claimedAt, lapses: lapsed.length, updatedAt }
}

function isForgotten({ seenAt, everyMs }: Known, now: number): boolean {
  return seenAt + forgottenAfter(everyMs) <= now
}
