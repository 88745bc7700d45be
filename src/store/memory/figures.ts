import { quarantineHolder } from '../lease.ts'
import { mostTallied, type StatusCount, type Tally } from '../records.ts'
import { mostFigures, type StoredFigures } from '../upkeep.ts'
import type { TenantTables } from './memory-tables.ts'

const counted = new Set(['turn_ended', 'tool_started', 'tool_result', 'resolution'])

export function figures(
  tenants: Iterable<readonly [string, TenantTables]>,
  now: number,
  windowMs: number,
): StoredFigures {
  const since = now - windowMs
  const events: StoredFigures['events'][number][] = []
  const modelCalls: StoredFigures['modelCalls'][number][] = []
  const answered: StoredFigures['answered'][number][] = []
  const nodes = new Map<string, StoredFigures['nodes'][number]>()
  let [waiting, overdue] = [0, 0]
  let [oldestAt, oldestDueAt] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (const [tenant, { conversations, calls }] of tenants) {
    for (const [id, { events: log, modelCalls: audit, lease }] of conversations) {
      for (const { type, at, content } of log) {
        if (at < since || !counted.has(type)) continue
        const { callId = null, status = null, reason = null } = JSON.parse(content) as Record<string, string | null>
        events.push({ log: `${tenant}/${id}`, type, at, callId, status, reason })
      }
      modelCalls.push(...audit.filter(({ at }) => at >= since).map((call) => ({ ...call, log: `${tenant}/${id}` })))
      if (!lease || lease.holder === quarantineHolder) continue
      const known = nodes.get(lease.holder)
      const nextLapseAt = Math.min(known?.nextLapseAt ?? lease.until, lease.until)
      nodes.set(lease.holder, { holder: lease.holder, leases: (known?.leases ?? 0) + 1, nextLapseAt })
    }
    for (const { status, kind, createdAt, expiresAt, resolvedAt } of calls.values()) {
      if (resolvedAt !== null && resolvedAt >= since && kind !== 'sub_agent') answered.push({ createdAt, resolvedAt })
      if (status !== 'pending') continue
      if (kind !== 'sub_agent') {
        waiting += 1
        oldestAt = Math.min(oldestAt, createdAt)
      }
      if (expiresAt === null || expiresAt > now) continue
      overdue += 1
      oldestDueAt = Math.min(oldestDueAt, expiresAt)
    }
  }
  const newestFirst = (one: { at: number }, other: { at: number }) => other.at - one.at
  return {
    now,
    storeBytes: null,
    events: events.sort(newestFirst).slice(0, mostFigures.events),
    modelCalls: modelCalls.sort(newestFirst).slice(0, mostFigures.modelCalls),
    inbox: { waiting, oldestAt: waiting === 0 ? null : oldestAt },
    answered: answered.slice(-mostFigures.calls),
    nodes: [...nodes.values()].slice(0, mostFigures.nodes),
    expiry: { overdue, oldestDueAt: overdue === 0 ? null : oldestDueAt },
    isPartial: events.length > mostFigures.events || modelCalls.length > mostFigures.modelCalls,
  }
}

export function changedSince(
  { conversations, tombstones }: TenantTables,
  since: number,
  limit: number,
): string[] | null {
  const found = new Set<string>()
  for (const [id, { columns, events }] of conversations)
    if (Math.max(columns.updatedAt, events.at(-1)?.at ?? 0) >= since) found.add(id)
  for (const [id, at] of tombstones) if (at >= since) found.add(id)
  return found.size > limit ? null : [...found]
}

export function tally({ conversations, calls }: TenantTables, owner: string | null): Tally {
  const isOwned = (id: string) => owner === null || conversations.get(id)?.columns.owner === owner
  const own = [...conversations.values()].map(({ columns }) => columns).filter(({ id }) => isOwned(id))
  const newest = own.sort((one, other) => other.createdAt - one.createdAt).slice(0, mostTallied)
  const counts = new Map<string, StatusCount>()
  for (const { kind, status } of newest) {
    const count = (counts.get(`${kind} ${status}`)?.count ?? 0) + 1
    counts.set(`${kind} ${status}`, { kind, status, count })
  }
  const waiting = [...calls.values()].filter(
    ({ status, kind, conversationId }) => status === 'pending' && kind !== 'sub_agent' && isOwned(conversationId),
  )
  const oldestAt = waiting.reduce((oldest, { createdAt }) => Math.min(oldest, createdAt), Number.POSITIVE_INFINITY)
  return {
    counts: [...counts.values()],
    waiting: waiting.length,
    oldestAt: waiting.length === 0 ? null : oldestAt,
    isPartial: own.length > newest.length,
  }
}
