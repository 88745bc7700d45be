import { readOptions } from '../../base/errors/read-options.ts'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { TurnStatus } from '../../log/events.ts'
import { checkDuration, checkId, checkOneOf, checkWhole, readList } from '../../store/checks.ts'
import { type JobAction, type JobFilter, type JobState, jobActions, type StoredJob } from '../../store/jobs.ts'
import type { ConversationFilter } from '../../store/records.ts'
import { type ListStatus, readListFilter } from '../read/lists.ts'

/** Which conversations of the tenant a bulk job is for. Without any member, all. */
export type BulkFilter = {
  readonly agent?: string
  /** Only those that this user opened. */
  readonly owner?: string
  readonly status?: ListStatus
  /** Only those with this text in their title or id. At most 200 characters. */
  readonly text?: string
  /** Only those to which nothing was written for so long when the job starts. */
  readonly olderThanMs?: number
  /** Of `retry`: how the newest turn ended. Default: `['failed']`. */
  readonly ended?: readonly TurnStatus[]
}

/**
 * The same for many conversations. `cancel` ends the open turn and what is queued. `retry` sends the messages of the newest turn again, in its place.
 * `unquarantine` has processes work again on conversations and sessions that are quarantined.
 */
export type BulkRequest = {
  readonly action: JobAction
  /** Default: 'default'. */
  readonly tenant?: string
  readonly filter?: BulkFilter
  /** Of `retry`: also where that may repeat what tools did. Default: false. */
  readonly force?: boolean
  /** How many conversations a second at most, up to 1,000. Default: 50. */
  readonly perSecond?: number
}

/** A bulk job to start. */
export type BulkStart = BulkRequest & {
  /** The same id is the same job. Default: a new one. */
  readonly id?: string
  /** Recorded with the job and its cancels. A retried turn acts for the user whose turn it was. Default: 'system'. */
  readonly who?: string
}

/** A bulk job, and how far it is. */
export type BulkJob = Required<Omit<BulkStart, 'filter'>> & {
  readonly filter: BulkFilter
  readonly state: JobState
  readonly startedAt: number
  /** Null until it is stopped or done. */
  readonly finishedAt: number | null
  readonly done: number
  /** Matched by the row, and left alone: see `skippedFor`. */
  readonly skipped: number
  readonly failed: number
  /** How many were skipped, by reason. */
  readonly skippedFor: Readonly<Partial<Record<SkipReason, number>>>
  /** The newest 100 that failed. */
  readonly failures: readonly BulkFailure[]
  /** Why it was stopped, where no person did. */
  readonly problem: string | null
}

/** A conversation that a bulk job could not act on, and why. */
export type BulkFailure = { readonly id: string; readonly error: string }

/**
 * `not_open`: no turn to cancel. `began_later`: the turn, or the quarantine, began after the job. `ended_otherwise`: the newest turn did not end as asked for.
 * `busy`: a turn is open or queued. `force_needed`: a tool may have had an effect. `replaced`: another turn took its place. `not_quarantined`, `gone`.
 */
export type SkipReason =
  | 'not_open'
  | 'began_later'
  | 'ended_otherwise'
  | 'busy'
  | 'force_needed'
  | 'replaced'
  | 'not_quarantined'
  | 'gone'

/** What is stored of a request, as it was read. */
export type BulkSpec = { readonly filter: BulkFilter; readonly force: boolean; readonly perSecond: number }

export type BulkReport = Pick<BulkJob, 'skippedFor' | 'failures' | 'problem'>

const emptyReport: BulkReport = { skippedFor: {}, failures: [], problem: null }

type ReadRequest = BulkSpec & { readonly action: JobAction; readonly tenant: string }

/** A request that was checked and read once. Throws `InvalidArgumentError`. */
export function readRequest(given: BulkRequest): ReadRequest {
  const {
    action,
    tenant = 'default',
    filter,
    force = false,
    perSecond = 50,
  } = readOptions<BulkRequest, keyof BulkRequest>('request', given, requestNames)
  checkOneOf('action', action, jobActions)
  checkId('tenant', tenant)
  if (typeof force !== 'boolean') throw new InvalidArgumentError('force', 'must be true or false')
  if (force && action !== 'retry') throw new InvalidArgumentError('force', "is for 'retry'; leave it out")
  checkWhole('perSecond', perSecond, 1)
  if (perSecond > 1_000) throw new InvalidArgumentError('perSecond', 'must be at most 1,000')
  return { action: action!, tenant, filter: readBulkFilter(filter, action!), force, perSecond }
}

export const requestNames = ['action', 'tenant', 'filter', 'force', 'perSecond'] as const

function readBulkFilter(given: BulkFilter | undefined, action: JobAction): BulkFilter {
  const filter = readOptions<BulkFilter, keyof BulkFilter>('filter', given ?? {}, filterNames)
  const { agent, owner, text, olderThanMs, ended } = filter
  if (agent !== undefined) checkId('agent', agent)
  if (owner !== undefined) checkId('owner', owner)
  readListFilter(filter.status === undefined ? {} : { status: filter.status })
  if (text !== undefined && (typeof text !== 'string' || text === '' || text.length > 200))
    throw new InvalidArgumentError('text', 'must have 1 to 200 characters')
  if (olderThanMs !== undefined) checkDuration('olderThanMs', olderThanMs, 0)
  if (ended === undefined) return filter as BulkFilter
  if (action !== 'retry') throw new InvalidArgumentError('ended', "is for 'retry'; leave it out")
  const statuses = readList('ended', ended)
  if (statuses.length === 0) throw new InvalidArgumentError('ended', 'must name at least one status')
  for (const status of statuses) checkOneOf('ended', status, ['completed', 'cancelled', 'failed', 'halted'])
  return { ...(filter as BulkFilter), ended: [...new Set(statuses)] }
}

const filterNames = ['agent', 'owner', 'status', 'text', 'olderThanMs', 'ended'] as const

/** The rows that a job looks at. `at`: when it started. */
export function storeFilterOf(action: JobAction, filter: BulkFilter, at: number): JobFilter {
  const { agent, owner, text, olderThanMs, status } = filter
  const row: ConversationFilter = (status === undefined ? undefined : readListFilter({ status })) ?? {}
  const statuses = row.status === undefined ? openStatuses[action] : [row.status]
  const kind = action === 'unquarantine' ? row.kind : 'conversation'
  return {
    ...(action === 'unquarantine' ? { isQuarantined: true } : { isRoot: true }),
    ...(kind === undefined ? {} : { kind }),
    ...(statuses ? { statuses } : {}),
    ...(agent === undefined ? {} : { agent }),
    ...(owner === undefined ? {} : { owner }),
    ...(text === undefined ? {} : { text }),
    ...(olderThanMs === undefined ? {} : { unchangedSince: Math.max(0, at - olderThanMs) }),
  }
}

const openStatuses: Readonly<Record<JobAction, JobFilter['statuses']>> = {
  cancel: ['active', 'suspended'],
  retry: ['idle', 'ended', 'failed'],
  unquarantine: undefined,
}

export function specOf({ spec }: Pick<StoredJob, 'spec'>): BulkSpec {
  return spec as unknown as BulkSpec
}

export function reportOf({ report }: Pick<StoredJob, 'report'>): BulkReport {
  return (report as unknown as BulkReport | null) ?? emptyReport
}

/** A row of the store as callers see it. */
export function bulkJob(job: StoredJob): BulkJob {
  const { id, tenant, action, who, state, createdAt: startedAt, finishedAt, done, skipped, failed } = job
  const counts = { done, skipped, failed }
  return { id, tenant, action, who, ...specOf(job), state, startedAt, finishedAt, ...counts, ...reportOf(job) }
}

/** As it is stored. */
export function asJson(value: BulkSpec | BulkReport): Json {
  return value as unknown as JsonObject
}
