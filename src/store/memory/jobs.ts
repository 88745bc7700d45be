import type { JobDriver, JobFilter, JobRow } from '../jobs.ts'
import { quarantineHolder } from '../lease.ts'
import { lowerAscii, searchedText } from '../rows.ts'
import { byteOrder, type ConversationRow, type MemoryTables } from './memory-tables.ts'

type Held = JobRow & { readonly token: number | null; readonly leaseUntil: number | null; readonly lapses: number }

type Parts = { readonly tables: MemoryTables; readonly clock: { now(): number } }

/** The bulk jobs of a memory store. Every method runs synchronously before it returns its promise. */
export class MemoryJobs implements JobDriver {
  readonly #parts: Parts
  readonly #jobs = new Map<string, Held>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Part of the deletion of a tenant. */
  forget(tenant: string): void {
    for (const job of this.#jobs.values()) if (job.tenant === tenant) this.#jobs.delete(job.id)
  }

  async start(job: Parameters<JobDriver['start']>[0], keepMs: number): Promise<JobRow> {
    const now = this.#parts.clock.now()
    for (const { id, finishedAt } of this.#jobs.values())
      if (finishedAt !== null && finishedAt < now - keepMs) this.#jobs.delete(id)
    const known = this.#jobs.get(job.id)
    if (known) return known
    const counts = { done: 0, skipped: 0, failed: 0, report: null, cursor: null }
    const lease = { token: null, leaseUntil: null, lapses: 0 }
    const added: Held = { ...job, state: 'running', createdAt: now, finishedAt: null, ...counts, ...lease }
    this.#jobs.set(job.id, added)
    return added
  }

  async get(id: string): Promise<JobRow | null> {
    return this.#jobs.get(id) ?? null
  }

  async list({ before, limit }: { readonly before: string | null; readonly limit: number }): Promise<JobRow[]> {
    const all = [...this.#jobs.values()].sort(
      (left, right) => right.createdAt - left.createdAt || byteOrder(right.id, left.id),
    )
    const from = before === null ? 0 : all.findIndex(({ id }) => id === before) + 1
    return before !== null && from === 0 ? [] : all.slice(from, from + limit)
  }

  async stop(id: string): Promise<boolean> {
    const job = this.#jobs.get(id)
    if (!job || job.finishedAt !== null) return false
    const now = this.#parts.clock.now()
    const isHeld = job.leaseUntil !== null && job.leaseUntil > now
    this.#jobs.set(
      id,
      isHeld ? { ...job, state: 'stopping' } : { ...job, state: 'stopped', finishedAt: now, token: null },
    )
    return true
  }

  async claim(leaseMs: number): Promise<Awaited<ReturnType<JobDriver['claim']>>> {
    const now = this.#parts.clock.now()
    const due = [...this.#jobs.values()]
      .filter(({ finishedAt, leaseUntil }) => finishedAt === null && (leaseUntil === null || leaseUntil <= now))
      .sort((left, right) => left.createdAt - right.createdAt || byteOrder(left.id, right.id))[0]
    if (!due) return null
    const token = this.#parts.tables.nextEpoch()
    const claimed = { ...due, token, leaseUntil: now + leaseMs, lapses: due.lapses + (due.token === null ? 0 : 1) }
    this.#jobs.set(due.id, claimed)
    return claimed
  }

  async settle(
    id: string,
    token: number,
    progress: Parameters<JobDriver['settle']>[2],
  ): Promise<'ok' | 'stopping' | 'lost'> {
    const job = this.#jobs.get(id)
    if (!job || job.token !== token) return 'lost'
    const { leaseMs, end, ...counts } = progress
    const now = this.#parts.clock.now()
    const lease = leaseMs === null ? { token: null, leaseUntil: null } : { token, leaseUntil: now + leaseMs }
    const ended = end === null ? {} : { state: end, finishedAt: now }
    this.#jobs.set(id, { ...job, ...counts, ...lease, lapses: 0, ...ended })
    return end === null && job.state === 'stopping' ? 'stopping' : 'ok'
  }

  async scan({ tenant, filter, at, after, limit }: Parameters<JobDriver['scan']>[0]): ReturnType<JobDriver['scan']> {
    const latest = at ?? this.#parts.clock.now()
    const rows = [...this.#parts.tables.tenant(tenant).conversations.values()]
      .filter(({ columns: { createdAt, id } }) => createdAt <= latest && (!after || isBelow({ createdAt, id }, after)))
      .sort(({ columns: left }, { columns: right }) => right.createdAt - left.createdAt || byteOrder(right.id, left.id))
    return rows.slice(0, limit).map((row) => {
      const { createdAt, id } = row.columns
      return { createdAt, id, matches: isMatch(row, filter) }
    })
  }
}

type Place = { readonly createdAt: number; readonly id: string }

function isBelow(row: Place, after: Place): boolean {
  return row.createdAt < after.createdAt || (row.createdAt === after.createdAt && byteOrder(row.id, after.id) < 0)
}

function isMatch(row: ConversationRow, filter: JobFilter): boolean {
  const { kind, statuses, agent, owner, text, unchangedSince, isQuarantined, isRoot } = filter
  const { columns } = row
  const searched = text === undefined ? null : searchedText(text)
  return (
    (kind === undefined || columns.kind === kind) &&
    (statuses === undefined || statuses.includes(columns.status)) &&
    (agent === undefined || columns.agent === agent) &&
    (owner === undefined || columns.owner === owner) &&
    (unchangedSince === undefined || columns.updatedAt <= unchangedSince) &&
    (!isQuarantined || row.lease?.holder === quarantineHolder) &&
    (!isRoot || row.childOf === null) &&
    (!searched ||
      lowerAscii(columns.id).includes(searched.inId) ||
      lowerAscii(columns.title ?? '').includes(searched.inTitle))
  )
}
