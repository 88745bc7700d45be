import type { Clock } from '../../base/clock.ts'
import type { SteeredBy, StoredTarget } from '../steered-by.ts'
import {
  mostActs,
  type PausableRow,
  type SteeringDriver,
  type SteeringPage,
  type StoredAct,
  type StoredPause,
} from '../steering.ts'
import type { MemoryTables } from './memory-tables.ts'

type Parts = { readonly tables: MemoryTables; readonly clock: Pick<Clock, 'now'> }

/** The pauses of a memory store. Every method runs synchronously before it returns its promise. */
export class MemorySteering implements SteeringDriver {
  readonly #parts: Parts
  readonly #acts: StoredAct[] = []
  #lastId = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async pause(target: StoredTarget, by: SteeredBy): Promise<StoredPause | null> {
    const { tables, clock } = this.#parts
    if (target.kind === 'conversation' && !tables.tenant(target.tenant).conversations.has(target.name)) return null
    const known = tables.pauses.get(pauseKey(target))
    if (known) return known
    const pause = { ...target, id: this.#nextId(), who: by.who, at: clock.now(), reason: by.reason ?? null }
    tables.pauses.set(pauseKey(target), pause)
    this.record('pause', target, by)
    return pause
  }

  async resume(target: StoredTarget, by: SteeredBy): Promise<boolean> {
    const isPaused = this.#parts.tables.pauses.delete(pauseKey(target))
    if (isPaused) this.record('resume', target, by)
    return isPaused
  }

  async pauses(page: SteeringPage & { limit: number }): Promise<StoredPause[]> {
    return newest([...this.#parts.tables.pauses.values()], page)
  }

  async pausesOf(rows: readonly PausableRow[]): Promise<(StoredPause | null)[]> {
    return rows.map(({ tenant, id, agent }) => pauseOf(this.#parts.tables.pauses, { tenant, id, agent }))
  }

  async acts(page: SteeringPage & { limit: number }): Promise<StoredAct[]> {
    return newest(this.#acts, page)
  }

  /** Part of a deletion. */
  forget(tenant: string, isGone: (conversationId: string) => boolean): void {
    const { pauses } = this.#parts.tables
    for (const [key, pause] of pauses)
      if (pause.kind === 'conversation' && pause.tenant === tenant && isGone(pause.name)) pauses.delete(key)
  }

  record(act: StoredAct['act'], target: StoredTarget, { who, reason }: SteeredBy): void {
    const { clock } = this.#parts
    this.#acts.push({ ...target, id: this.#nextId(), act, who, at: clock.now(), reason: reason ?? null })
    if (this.#acts.length > mostActs) this.#acts.shift()
  }

  #nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }
}

function newest<Row extends { readonly id: number }>(
  rows: readonly Row[],
  { before = Number.POSITIVE_INFINITY, limit }: SteeringPage & { limit: number },
): Row[] {
  return rows
    .filter(({ id }) => id < before)
    .sort((one, other) => other.id - one.id)
    .slice(0, limit)
}

function pauseKey({ kind, tenant, name }: StoredTarget): string {
  return JSON.stringify([kind, tenant, name])
}

/** The oldest pause of a conversation or session. */
export function pauseOf(
  pauses: ReadonlyMap<string, StoredPause>,
  { tenant, id, agent }: PausableRow,
): StoredPause | null {
  if (pauses.size === 0) return null
  const keys = [
    pauseKey({ kind: 'tenant', tenant, name: '' }),
    pauseKey({ kind: 'conversation', tenant, name: id }),
    ...(agent === null ? [] : [pauseKey({ kind: 'agent', tenant: '', name: agent })]),
  ]
  const found = keys.flatMap((key) => pauses.get(key) ?? [])
  return found.sort((one, other) => one.id - other.id)[0] ?? null
}
