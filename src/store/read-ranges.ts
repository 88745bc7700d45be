import { readMembers } from '../base/errors/read-given.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { checkDuration, checkId, checkOneOf, checkWhole, readList } from './checks.ts'
import type { ConversationFilter } from './conversation-record.ts'
import type { KnownLease } from './lease-news.ts'
import type { ModelCallRange } from './model-call.ts'
import type { BlobSlice, DueWorkQuery, EventRange, Page, PageBounds } from './store.ts'
import type { WatchedLog } from './watched-log.ts'

/** Ranges and pages as callers give them: checked, and read once. */
export function readRange(given: EventRange | undefined): EventRange {
  const range = readMembers('range', given, ['after', 'before', 'keep', 'limit', 'maxBytes'])
  if (range.after !== undefined) checkWhole('after', range.after, 0)
  if (range.before !== undefined) checkWhole('before', range.before, 0)
  if (range.keep !== undefined) checkOneOf('keep', range.keep, ['newest', 'oldest'])
  return checkBounds(range)
}

export function readBounds(given: PageBounds | undefined): PageBounds {
  return checkBounds(readMembers('bounds', given, ['limit', 'maxBytes']))
}

export function readPage(given: Page | undefined): Page {
  const page = readMembers('page', given, ['before', 'limit', 'maxBytes'])
  if (page.before !== undefined) checkId('before', page.before)
  return checkBounds(page)
}

export function readFilter(given: ConversationFilter | undefined): ConversationFilter {
  const filter = readMembers('filter', given, ['status', 'agent', 'forkOf', 'before', 'limit', 'maxBytes'])
  if (filter.status !== undefined) checkOneOf('status', filter.status, statuses)
  if (filter.agent !== undefined) checkId('agent', filter.agent)
  if (filter.forkOf !== undefined) checkId('forkOf', filter.forkOf)
  if (filter.before !== undefined) checkId('before', filter.before)
  return checkBounds(filter)
}

export function readModelCallRange(given: ModelCallRange | undefined): ModelCallRange {
  const range = readMembers('range', given, ['turnRef', 'from', 'skip', 'contexts', 'limit', 'maxBytes'])
  if (range.turnRef !== undefined) checkId('turnRef', range.turnRef)
  if (range.from !== undefined) checkId('from', range.from)
  if (range.skip !== undefined) checkWhole('skip', range.skip, 0)
  if (range.contexts !== undefined && typeof range.contexts !== 'boolean')
    throw new InvalidArgumentError('contexts', 'must be true or false')
  return checkBounds(range)
}

export function readSlice(given: BlobSlice): BlobSlice {
  const { from, length } = readMembers('slice', given, ['from', 'length'])
  checkWhole('from', from, 0)
  checkWhole('length', length, 1)
  return { from, length }
}

/** The agents that the caller has code for, each a name of its own. */
export function readDueWork(given: DueWorkQuery): DueWorkQuery {
  const { agents, limit, suspects, leaseMs } = readMembers('query', given, ['agents', 'limit', 'suspects', 'leaseMs'])
  checkWhole('limit', limit, 1)
  if (suspects !== undefined) checkWhole('suspects', suspects, 0)
  if (leaseMs !== undefined) checkDuration('leaseMs', leaseMs)
  const names = readList('agents', agents!)
  for (const name of names) checkId('agent', name)
  return {
    ...{ agents: names, limit },
    ...(suspects === undefined ? {} : { suspects }),
    ...(leaseMs === undefined ? {} : { leaseMs }),
  }
}

/** The leases that a holder knows of, and up to where it knows their logs. */
export function readKnownLeases(given: readonly KnownLease[]): KnownLease[] {
  return readList('known', given).map((lease) => {
    const { tenant, id, epoch, seq } = readMembers<KnownLease, keyof KnownLease>('known', lease, leaseNames)
    checkId('tenant', tenant)
    checkId('conversation id', id)
    checkWhole('epoch', epoch, 0)
    checkWhole('seq', seq, 0)
    return { tenant, id, epoch, seq }
  })
}

const leaseNames = ['tenant', 'id', 'epoch', 'seq'] as const

/** The logs that a watcher knows of, and up to where. */
export function readWatchedLogs(given: readonly WatchedLog[]): WatchedLog[] {
  return readList('watched', given).map((log) => {
    const { tenant, id, seq, at, status } = readMembers<WatchedLog, keyof WatchedLog>('watched', log, watchedNames)
    checkId('tenant', tenant)
    checkId('conversation id', id)
    checkWhole('seq', seq, 0)
    if (at !== null) checkWhole('at', at, 0)
    if (status !== null) checkOneOf('status', status, statuses)
    return { tenant, id, seq, at, status }
  })
}

const watchedNames = ['tenant', 'id', 'seq', 'at', 'status'] as const
const statuses = ['active', 'suspended', 'idle', 'ended'] as const

function checkBounds<T extends PageBounds>(bounds: T): T {
  if (bounds.limit !== undefined) checkWhole('limit', bounds.limit, 1)
  if (bounds.maxBytes !== undefined) checkWhole('maxBytes', bounds.maxBytes, 1)
  return bounds
}
