import { type Clock, systemClock } from '../../base/clock.ts'
import { uuidV7 } from '../../base/uuid-v7.ts'
import { type ClaimedRow, DueChoice } from '../claim-due.ts'
import { createStore, type StoreOptions } from '../create-store.ts'
import type { Driver, DueCall, StoredCall, StoredConversation, StoredEventRange, StoredSummary } from '../driver.ts'
import { FairSearch } from '../fair-search.ts'
import { ClockWatch, judgeClaim, type KnownLease, leaseNews, withoutLapse } from '../lease.ts'
import { fitsBeside } from '../records.ts'
import { fittingRows, forkParents, lowerAscii, rowBytes, searchedText } from '../rows.ts'
import type { SlotLimits } from '../slots.ts'
import type { Store } from '../store.ts'
import { memoryAccounts } from './accounts.ts'
import { commitChange } from './commit-change.ts'
import { changedSince, tally } from './figures.ts'
import { findDue } from './find-due.ts'
import { MemoryJobs } from './jobs.ts'
import {
  byteOrder,
  type ConversationRow,
  deleteConversation,
  forkConversation,
  freeId,
  MemoryTables,
  quarantineOf,
  repairAfterClockChange,
} from './memory-tables.ts'
import { MemoryNodes } from './nodes.ts'
import { MemoryOutbox } from './outbox.ts'
import { limitReached } from './slots.ts'
import { MemorySteering, pauseOf } from './steering.ts'
import { memoryUpkeep } from './upkeep.ts'

/** Options of `memoryStore`. */
export type MemoryStoreOptions = StoreOptions & {
  /** Default: the system clock. */
  readonly clock?: Clock
}

/** A store that lives as long as the process: for tests, examples and data that may be lost. */
export function memoryStore({ clock = systemClock, ...options }: MemoryStoreOptions = {}): Store {
  return createStore(memoryDriver(clock), options, clock)
}

/**
 * The driver behind `memoryStore`, for stores that hold their data in memory and also keep it elsewhere. Every method runs synchronously before it returns its
 * promise, which makes it atomic. Results depend only on earlier calls, the clock and `newId`, so the same calls make the same data.
 */
export function memoryDriver(clock: Pick<Clock, 'now'> = systemClock, newId: () => string = () => uuidV7()): Driver {
  const tables = new MemoryTables()
  const outbox = new MemoryOutbox({ tables, clock })
  const jobs = new MemoryJobs({ tables, clock })
  const steering = new MemorySteering({ tables, clock })
  const isPaused = (tenant: string, id: string, agent: string | null) =>
    pauseOf(tables.pauses, { tenant, id, agent }) !== null
  const clockWatch = new ClockWatch()
  const search = new FairSearch()
  const rowOf = (tenant: string, id: string) => tables.tenant(tenant).conversations.get(id)

  const reached = (tenant: string, row: ConversationRow, now: number) => (limits: SlotLimits) =>
    limitReached(tables, tenant, row, limits, now)

  function watchedNow(leaseMs: number | undefined): number {
    const now = clock.now()
    const news = clockWatch.observe(now)
    if (news !== 'forward') repairAfterClockChange(tables, now, news, leaseMs)
    clockWatch.repairedAt(now)
    return now
  }

  return {
    durable: false,

    async commit(tenant, id, change) {
      const now = clock.now()
      const surroundings = {
        now,
        nextEpoch: () => tables.nextEpoch(),
        reached: (row: ConversationRow) => reached(tenant, row, now),
      }
      const outcome = commitChange(tables.tenant(tenant), id, change, surroundings, (agent) =>
        isPaused(tenant, id, agent),
      )
      // A known key has no time: it was written the first time.
      if (outcome.type === 'ok' && outcome.at !== undefined && tables.subscribers.size > 0) {
        const types = change.events.map(({ type }) => type)
        outbox.add({ tenant, conversationId: id, lastSeq: outcome.seq, types, at: outcome.at })
      }
      return outcome
    },
    async readEvents(tenant, id, range) {
      return eventsIn(rowOf(tenant, id), range)
    },
    async loadSince(tenant, id, bounds) {
      const row = rowOf(tenant, id)
      const summary = latestSummary(row)
      return { summary, events: eventsIn(row, { ...bounds, after: summary?.toSeq ?? 0, keep: 'oldest' }) }
    },
    async putSummary(tenant, id, summary, plannedOn) {
      const row = rowOf(tenant, id)
      if (!row) return 'missing'
      const lastSeq = row.events.length
      if (summary.toSeq > lastSeq) return { pastEnd: lastSeq }
      const superseded = row.events.findLast(({ seq, type }) => seq > plannedOn && type === 'superseded')
      if (superseded) return { supersededAt: superseded.seq }
      const inOrder = [...row.summaries.values()].sort((left, right) => left.toSeq - right.toSeq)
      const overlaps = inOrder.find((known) => !fitsBeside(known, summary))
      if (overlaps) return { overlaps: { fromSeq: overlaps.fromSeq, toSeq: overlaps.toSeq } }
      row.summaries.set(summary.toSeq, summary)
      return 'ok'
    },
    async latestSummary(tenant, id) {
      return latestSummary(rowOf(tenant, id))
    },
    async getConversation(tenant, id) {
      const row = rowOf(tenant, id)
      return row ? { ...columnsOf(row), idleSeq: row.idleSeq } : null
    },
    async listConversations(tenant, { kind, status, agent, owner, forkOf, text, ids, before, ...bounds }) {
      const { conversations, calls } = tables.tenant(tenant)
      const searched = text === undefined ? null : searchedText(text)
      const wanted = ids && new Set(ids)
      const isOwned = ({ columns }: ConversationRow) => owner === undefined || columns.owner === owner
      const last = before === undefined ? undefined : conversations.get(before)
      if (before !== undefined && !(last && isOwned(last))) return null
      const rows = [...conversations.values()].filter(isOwned).map(columnsOf).sort(newestFirst)
      const from = before === undefined ? 0 : rows.findIndex((row) => row.id === before) + 1
      const found = rows
        .slice(from)
        .filter(
          (row) =>
            (kind === undefined || row.kind === kind) &&
            (status === undefined || row.status === status) &&
            (agent === undefined || row.agent === agent) &&
            (forkOf === undefined || row.parent?.startsWith(forkParents(forkOf).from)) &&
            (!wanted || wanted.has(row.id)) &&
            (!searched ||
              lowerAscii(row.id).includes(searched.inId) ||
              lowerAscii(row.title ?? '').includes(searched.inTitle)),
        )
      return fittingRows(found, bounds, rowBytes.conversation).map((row) => {
        const own = [...(conversations.get(row.id)?.callIds ?? [])].map((callId) => calls.get(callId))
        const waiting = own.filter((call) => call?.status === 'pending' && call.kind !== 'sub_agent').length
        return { ...row, waiting }
      })
    },
    async changedSince(tenant, since, limit) {
      return changedSince(tables.tenant(tenant), since, limit)
    },
    async tally(tenant, owner) {
      return tally(tables.tenant(tenant), owner)
    },
    async deleteConversation(tenant, id) {
      const removed = deleteConversation(tables.tenant(tenant), id, clock.now())
      outbox.forget(tenant, (conversationId) => !rowOf(tenant, conversationId))
      steering.forget(tenant, (conversationId) => !rowOf(tenant, conversationId))
      return removed
    },
    async deleteTenant(tenant) {
      const doomed = tables.tenant(tenant)
      for (const row of doomed.conversations.values()) {
        freeId(doomed, row, clock.now())
        doomed.tombstones.set(row.columns.id, clock.now())
      }
      tables.deleteTenant(tenant)
      outbox.forget(tenant, () => true)
      jobs.forget(tenant)
      steering.forget(tenant, () => true)
      return doomed.conversations.size
    },

    async getCall(tenant, callId) {
      return tables.tenant(tenant).calls.get(callId) ?? null
    },
    async pendingCalls(tenant, id) {
      const { calls } = tables.tenant(tenant)
      const ids = [...(rowOf(tenant, id)?.callIds ?? [])]
      return ids
        .map((callId) => calls.get(callId)!)
        .filter(isPending)
        .sort((left, right) => newestFirst(right, left))
    },
    async inbox(tenant, { owner, before, ...bounds }) {
      const { calls, conversations } = tables.tenant(tenant)
      const isOwned = ({ conversationId }: StoredCall) =>
        owner === undefined || conversations.get(conversationId)?.columns.owner === owner
      const last = before === undefined ? undefined : calls.get(before)
      if (before !== undefined && !(last && isOwned(last))) return null
      const found = [...calls.values()]
        .filter((call) => isPending(call) && isOwned(call) && (!last || newestFirst(last, call) < 0))
        .sort(newestFirst)
        .map((call) => {
          const row = conversations.get(call.conversationId)!
          const { agent, title, owner: ownedBy } = row.columns
          return { ...call, agent, title, owner: ownedBy, quarantinedAt: quarantineOf(row).quarantinedAt }
        })
      return fittingRows(found, bounds, rowBytes.inboxCall)
    },
    async dueCalls(limit) {
      const now = clock.now()
      const due: (DueCall & { expiresAt: number })[] = []
      let nextAt = Number.POSITIVE_INFINITY
      for (const call of callsWithDeadline(tables)) {
        if (call.expiresAt <= now) due.push(call)
        else nextAt = Math.min(nextAt, call.expiresAt)
      }
      due.sort((left, right) => left.expiresAt - right.expiresAt)
      return {
        due: due.slice(0, limit).map(({ expiresAt: _, ...call }) => call),
        nextInMs: nextAt === Number.POSITIVE_INFINITY ? null : nextAt - now,
      }
    },

    async putModelCall(tenant, id, call) {
      const row = rowOf(tenant, id)
      row?.modelCalls.push({ ...call, at: call.at ?? clock.now() })
      return row !== undefined
    },
    async modelCalls(tenant, id, { turnRef, from, skip, contexts = true, ...bounds }) {
      const calls = (rowOf(tenant, id)?.modelCalls ?? [])
        .filter((call) => turnRef === undefined || call.turnRef === turnRef)
        .filter((call) => from === undefined || byteOrder(call.turnRef, from) >= 0)
        .sort((left, right) => byteOrder(left.turnRef, right.turnRef))
        .slice(skip)
      const read = contexts ? calls : calls.map((call) => ({ ...call, renderedContext: null }))
      return fittingRows(read, bounds, rowBytes.modelCall)
    },
    async gcModelCalls(tenant, id, ttlMs) {
      const row = rowOf(tenant, id)
      if (!row) return 0
      const remaining = row.modelCalls.filter((call) => call.at >= clock.now() - ttlMs)
      const removed = row.modelCalls.length - remaining.length
      row.modelCalls.splice(0, row.modelCalls.length, ...remaining)
      return removed
    },

    async fork(tenant, id, forkId, request) {
      return forkConversation(tables.tenant(tenant), id, forkId, request, clock.now(), newId)
    },

    async claimLease(tenant, id, holder, ttlMs, options) {
      const row = rowOf(tenant, id)
      if (!row) return { type: 'held' }
      if (isPaused(tenant, id, row.columns.agent)) return { type: 'held' }
      const now = clock.now()
      const epoch = () => tables.nextEpoch()
      const claim = { holder, ttlMs, ...options, epoch, reached: reached(tenant, row, now) }
      const { outcome, lease } = judgeClaim(row.lease, claim, now)
      row.lease = lease ?? row.lease
      return outcome
    },
    async takeBackLapse(tenant, id, epoch) {
      const row = rowOf(tenant, id)
      if (row?.lease) row.lease = withoutLapse(row.lease, epoch)
    },
    async unquarantine(tenant, id) {
      const row = rowOf(tenant, id)
      const isQuarantined = row !== undefined && quarantineOf(row).quarantinedAt !== null
      if (isQuarantined) row.lease = null
      return isQuarantined
    },
    async releaseLease(tenant, id, epoch) {
      const row = rowOf(tenant, id)
      if (row?.lease?.epoch === epoch) row.lease = null
    },
    async renewLeases(holder, ttlMs, known) {
      const until = clock.now() + ttlMs
      const epochs = new Set(known.map(({ epoch }) => epoch))
      const rows: KnownLease[] = []
      for (const [tenant, { conversations }] of tables.tenants()) {
        for (const [id, row] of conversations) {
          if (row.lease?.holder !== holder) continue
          if (epochs.has(row.lease.epoch)) row.lease = { ...row.lease, until }
          rows.push({ tenant, id, epoch: row.lease.epoch, seq: row.events.length })
        }
      }
      return leaseNews(known, rows)
    },
    async dueWork(query) {
      return findDue(tables, search, query, { now: watchedNow(query.leaseMs), isPaused })
    },
    async claimDue(claim) {
      const { agents, holder, ttlMs, limits, only } = claim
      const choice = new DueChoice(claim)
      const now = watchedNow(ttlMs)
      const claimed: ClaimedRow[] = []
      // Of those that are asked for, each claim decides.
      const searched = limits && !only ? { limits } : {}
      for (const { tenant, id } of findDue(
        tables,
        search,
        { agents, ...choice.query, ...searched },
        { now, isPaused },
      )) {
        const row = rowOf(tenant, id)!
        const takes = choice.asksFor(tenant, id) && choice.takes(tenant, columnsOf(row))
        if (!takes || claimed.length >= claim.limit) continue
        const terms = { holder, ttlMs, ...choice.terms(tenant, row.columns), epoch: () => tables.nextEpoch() }
        const { outcome, lease } = judgeClaim(row.lease, { ...terms, reached: reached(tenant, row, now) }, now)
        if (!lease || (outcome.type !== 'taken' && outcome.type !== 'quarantined')) continue
        row.lease = lease
        const { epoch, lapsed } = lease
        const read = { ...columnsOf(row), idleSeq: row.idleSeq }
        claimed.push(choice.claimed({ tenant, type: outcome.type, epoch, lapses: lapsed.length, row: read }))
      }
      return claimed
    },

    async movedLogs(watched) {
      return watched.flatMap(({ tenant, id, seq, at, status }, place) => {
        const row = rowOf(tenant, id)
        const isSame =
          (row?.events.length ?? 0) === seq && (seq === 0 || at === null || row?.events[seq - 1]?.at === at)
        const stands = status === null || (row?.columns.status === status && quarantineOf(row).quarantinedAt === null)
        return isSame && stands ? [] : [place]
      })
    },

    async putBlob(tenant, hash, bytes, mediaType) {
      const { blobs } = tables.tenant(tenant)
      const blob = blobs.get(hash)
      if (blob) blob.pins += 1
      else blobs.set(hash, { bytes: new Uint8Array(bytes), mediaType, pins: 1, references: new Map() })
    },
    async getBlob(tenant, hash, { from, length } = { from: 0, length: Number.POSITIVE_INFINITY }) {
      const blob = tables.tenant(tenant).blobs.get(hash)
      return blob ? { bytes: blob.bytes.slice(from, from + length), mediaType: blob.mediaType } : null
    },
    async putSnapshot(tenant, id, snapshot) {
      tables.tenant(tenant).snapshots.set(id, snapshot)
    },
    async getSnapshot(tenant, id) {
      return tables.tenant(tenant).snapshots.get(id) ?? null
    },

    upkeep: memoryUpkeep(tables, clock),
    jobs,
    outbox,
    accounts: memoryAccounts(tables, clock),
    nodes: new MemoryNodes({ tables, clock, steering }),
    steering,
    watchOthers: () => () => {},
    async close() {},
  }
}

function eventsIn(
  row: ConversationRow | undefined,
  { after = 0, before, type, keep = 'newest', ...bounds }: StoredEventRange,
) {
  if (!row) return []
  const end = Math.max(0, (before ?? Number.POSITIVE_INFINITY) - 1)
  const range = row.events.slice(after, end)
  const typed = type === undefined ? range : range.filter((event) => event.type === type)
  if (keep === 'oldest') return fittingRows(typed, bounds, rowBytes.event)
  return fittingRows(typed.reverse(), bounds, rowBytes.event).reverse()
}

function latestSummary(row: ConversationRow | undefined): StoredSummary | null {
  let latest: StoredSummary | null = null
  for (const summary of row?.summaries.values() ?? []) {
    if (!latest || summary.toSeq > latest.toSeq) latest = summary
  }
  return latest
}

function columnsOf(row: ConversationRow): StoredConversation {
  return { ...row.columns, lastSeq: row.events.length, ...quarantineOf(row) }
}

type Dated = { readonly id: string; readonly createdAt: number }

function newestFirst(left: Dated, right: Dated): number {
  return right.createdAt - left.createdAt || byteOrder(right.id, left.id)
}

function isPending(call: StoredCall): boolean {
  return call.status === 'pending'
}

function* callsWithDeadline(tables: MemoryTables): Generator<DueCall & { expiresAt: number }> {
  for (const [tenant, { calls }] of tables.tenants()) {
    for (const call of calls.values()) {
      const { id: callId, conversationId, round, kind, expiresAt } = call
      if (isPending(call) && expiresAt !== null) yield { tenant, id: conversationId, callId, round, kind, expiresAt }
    }
  }
}
