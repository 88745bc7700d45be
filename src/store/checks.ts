import { readArgument, readOptions, shown } from '../base/errors/read-options.ts'
import { InvalidArgumentError, InvalidIdError } from '../base/errors/store-errors.ts'
import { type KnownLease, quarantineHolder } from './lease.ts'
import { type ConversationFilter, conversationStatuses, type ModelCallRange } from './records.ts'
import type { BlobSlice, EventRange, InboxFilter, Page, PageBounds, WatchedLog } from './store.ts'

const maxIdBytes = 255
/** A hundred years. A longer duration is a mistake in the unit. */
const maxDurationMs = 3_155_760_000_000

/** Checks ids, keys, tenants and holders, which are compared and indexed as they are. */
export function checkId(name: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw new InvalidIdError(name, `is ${kindOf(value)}, not a string`)
  if (value === '') throw new InvalidIdError(name, 'is empty')
  if (!value.isWellFormed()) throw new InvalidIdError(name, 'has a lone surrogate')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(value)) throw new InvalidIdError(name, 'has a control character')
  const bytes = value.length * 3 <= maxIdBytes ? 0 : Buffer.byteLength(value)
  if (bytes > maxIdBytes) throw new InvalidIdError(name, `has ${bytes} bytes`)
}

/** As a sentence has it: `undefined`, `an object`, `a number`. */
function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Whether the value passes `checkId`. */
export function isId(value: unknown): value is string {
  try {
    checkId('id', value)
    return true
  } catch {
    return false
  }
}

/** The same for new ids, which appear in URLs. Existing ids of any form keep working. */
export function checkNewId(name: string, value: unknown): asserts value is string {
  checkId(name, value)
  if (isDotSegment(value)) throw new InvalidIdError(name, `is '${value}', which no path of a URL can hold`)
}

/** Path segments that URL parsers remove, however they are encoded. */
export function isDotSegment(id: string): boolean {
  return id === '.' || id === '..'
}

/** Checks the holder of a lease. */
export function checkHolder(holder: unknown): asserts holder is string {
  checkId('holder', holder)
  if (holder === quarantineHolder)
    throw new InvalidArgumentError('holder', `must not be '${holder}', which marks quarantined conversations`)
}

/** Checks whether a claim may take conversations with lapsed leases. */
export function checkSuspects(suspects: unknown): asserts suspects is boolean | undefined {
  if (suspects !== undefined && typeof suspects !== 'boolean')
    throw new InvalidArgumentError('suspects', 'must be true or false')
}

export function checkWhole(name: string, value: unknown, min: number): asserts value is number {
  if (!Number.isSafeInteger(value) || (value as number) < min) {
    throw new InvalidArgumentError(name, `must be a whole number of at least ${min}, not ${shown(value)}`)
  }
}

export function checkDuration(name: string, value: unknown, min = 1): asserts value is number {
  checkWhole(name, value, min)
  if (value > maxDurationMs)
    throw new InvalidArgumentError(name, `must be at most ${maxDurationMs} ms (a hundred years), not ${value}`)
}

/** A title is shown in lists and inboxes, so it is short. */
export function checkTitle(title: unknown): asserts title is string | null {
  if (title === null) return
  if (typeof title !== 'string')
    throw new InvalidArgumentError('title', `must be a string or null, not ${shown(title)}`)
  const { length } = title
  if (length === 0) throw new InvalidArgumentError('title', 'is empty; pass null to remove the title')
  if (length > maxTitleLength)
    throw new InvalidArgumentError('title', `has ${length} characters; use at most ${maxTitleLength}`)
}

const maxTitleLength = 1_000

export function checkOneOf<T extends string>(name: string, value: unknown, allowed: readonly T[]): asserts value is T {
  if (!allowed.includes(value as T)) {
    throw new InvalidArgumentError(name, `must be one of ${allowed.join(', ')}, not ${shown(value)}`)
  }
}

/** Far more than any caller needs, and few enough to visit one by one: a sparse array may be longer than memory. */
const mostItems = 100_000

/** Copies a list, with undefined in place of holes, which most array methods skip. */
export function readList<T>(name: string, input: readonly T[]): T[] {
  return readArgument(name, () => {
    if (!Array.isArray(input)) throw new InvalidArgumentError(name, 'must be a list')
    const { length } = input
    if (length > mostItems) throw new InvalidArgumentError(name, `has ${length} items; the limit is ${mostItems}`)
    return [...input]
  })
}

export const maxEventBytes = 1024 * 1024
/** A note is for the application, so it must never be what makes a log heavy. */
export const maxNoteBytes = 64 * 1024
/** A fork gives the open calls in an event new ids, which may be longer. */
export const maxStoredEventBytes = maxEventBytes + 64 * 1024

/** Reads a range or page from the caller: each member is read once and checked. */
export function readRange(input: EventRange | undefined): EventRange {
  const range = readOptions('range', input, ['after', 'before', 'keep', 'limit', 'maxBytes'])
  if (range.after !== undefined) checkWhole('after', range.after, 0)
  if (range.before !== undefined) checkWhole('before', range.before, 0)
  if (range.keep !== undefined) checkOneOf('keep', range.keep, ['newest', 'oldest'])
  return checkBounds(range)
}

export function readBounds(input: PageBounds | undefined): PageBounds {
  return checkBounds(readOptions('bounds', input, ['limit', 'maxBytes']))
}

export function readPage(input: Page | undefined): Page {
  const page = readOptions('page', input, ['before', 'limit', 'maxBytes'])
  if (page.before !== undefined) checkId('before', page.before)
  return checkBounds(page)
}

export function readInboxFilter(input: InboxFilter | undefined): InboxFilter {
  const filter = readOptions('page', input, ['owner', 'before', 'limit', 'maxBytes'])
  if (filter.owner !== undefined) checkId('owner', filter.owner)
  if (filter.before !== undefined) checkId('before', filter.before)
  return checkBounds(filter)
}

export function readFilter(input: ConversationFilter | undefined): ConversationFilter {
  const filter = readOptions<ConversationFilter, keyof ConversationFilter>('filter', input, filterNames)
  if (filter.kind !== undefined) checkOneOf('kind', filter.kind, ['conversation', 'flow'])
  if (filter.status !== undefined) checkOneOf('status', filter.status, conversationStatuses)
  if (filter.agent !== undefined) checkId('agent', filter.agent)
  if (filter.owner !== undefined) checkId('owner', filter.owner)
  if (filter.forkOf !== undefined) checkId('forkOf', filter.forkOf)
  if (filter.before !== undefined) checkId('before', filter.before)
  if (filter.text !== undefined) checkText(filter.text)
  return checkBounds(filter.ids === undefined ? filter : { ...filter, ids: readIds(filter.ids) })
}

const filterNames = [
  ...(['kind', 'status', 'agent', 'owner', 'forkOf', 'text', 'ids', 'before', 'limit', 'maxBytes'] as const),
]

const maxTextLength = 200
const mostIds = 1_000

export function checkText(text: unknown): asserts text is string {
  if (typeof text !== 'string' || text === '')
    throw new InvalidArgumentError('text', `must be a text, not ${shown(text)}`)
  if (text.length > maxTextLength)
    throw new InvalidArgumentError('text', `has ${text.length} characters; use at most ${maxTextLength}`)
  if (!text.isWellFormed() || text.includes('\0'))
    throw new InvalidArgumentError('text', 'has a lone surrogate or a NUL, which no title has')
}

function readIds(given: readonly string[]): string[] {
  const ids = readList('ids', given)
  if (ids.length > mostIds) throw new InvalidArgumentError('ids', `has ${ids.length} items; the limit is ${mostIds}`)
  for (const id of ids) checkId('conversation id', id)
  return ids
}

export function readModelCallRange(input: ModelCallRange | undefined): ModelCallRange {
  const range = readOptions('range', input, ['turnRef', 'from', 'skip', 'contexts', 'limit', 'maxBytes'])
  if (range.turnRef !== undefined) checkId('turnRef', range.turnRef)
  if (range.from !== undefined) checkId('from', range.from)
  if (range.skip !== undefined) checkWhole('skip', range.skip, 0)
  if (range.contexts !== undefined && typeof range.contexts !== 'boolean')
    throw new InvalidArgumentError('contexts', 'must be true or false')
  return checkBounds(range)
}

export function readSlice(input: BlobSlice): BlobSlice {
  const { from, length } = readOptions('slice', input, ['from', 'length'])
  checkWhole('from', from, 0)
  checkWhole('length', length, 1)
  return { from, length }
}

/** The leases that a holder knows, and how far it knows their logs. */
export function readKnownLeases(input: readonly KnownLease[]): KnownLease[] {
  return readList('known', input).map((lease) => {
    const { tenant, id, epoch, seq } = readOptions<KnownLease, keyof KnownLease>('known', lease, leaseNames)
    checkId('tenant', tenant)
    checkId('conversation id', id)
    checkWhole('epoch', epoch, 0)
    checkWhole('seq', seq, 0)
    return { tenant, id, epoch, seq }
  })
}

const leaseNames = ['tenant', 'id', 'epoch', 'seq'] as const

/** The logs that a watcher knows, and how far. */
export function readWatchedLogs(input: readonly WatchedLog[]): WatchedLog[] {
  return readList('watched', input).map((log) => {
    const { tenant, id, seq, at, status } = readOptions<WatchedLog, keyof WatchedLog>('watched', log, watchedNames)
    checkId('tenant', tenant)
    checkId('conversation id', id)
    checkWhole('seq', seq, 0)
    if (at !== null) checkWhole('at', at, 0)
    if (status !== null) checkOneOf('status', status, conversationStatuses)
    return { tenant, id, seq, at, status }
  })
}

const watchedNames = ['tenant', 'id', 'seq', 'at', 'status'] as const

function checkBounds<T extends PageBounds>(bounds: T): T {
  if (bounds.limit !== undefined) checkWhole('limit', bounds.limit, 1)
  if (bounds.maxBytes !== undefined) checkWhole('maxBytes', bounds.maxBytes, 1)
  return bounds
}
