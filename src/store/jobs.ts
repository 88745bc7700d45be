import { setTimeout as sleep } from 'node:timers/promises'
import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError, JobsUnsupportedError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'
import { decode, encode } from '../log/codec.ts'
import type { ConversationStatus } from '../log/fsm-state.ts'
import { checkDuration, checkId, checkOneOf, checkWhole, readList } from './checks.ts'
import { type ConversationKind, conversationStatuses } from './records.ts'

/**
 * What a store may offer beside its contract: bulk jobs, which do the same to many conversations of one tenant. A job is one row. It is worked on by the process
 * that has claimed it, and by another when that one's lease has lapsed. `cursor` is how far it is, newest conversation first.
 */
export type Jobs = {
  /**
   * Writes a job, whose `createdAt` is now by the store's clock, and returns it; an id that is known returns the job that has it. Removes jobs that ended more
   * than `keepMs` ago. What is created after it has resolved has a later time than the job.
   */
  start(job: NewJob, keepMs: number): Promise<StoredJob>
  /** Null when there is none. */
  get(id: string): Promise<StoredJob | null>
  /** The newest first, by `createdAt`, then by the bytes of the id. `before` is the id of the last one of the previous page. Default of `limit`: 100. */
  list(page?: JobPage): Promise<StoredJob[]>
  /** Has a job end: at once where no process works on it, else after the batch under way. False when it has ended, or there is none. */
  stop(id: string): Promise<boolean>
  /** Takes the oldest job that has not ended and that no process has. Counts a lease that lapsed. Null when there is none. */
  claim(leaseMs: number): Promise<ClaimedJob | null>
  /** Records progress, and extends the lease or gives it back. Refused (`lost`) unless the token is still the one of the job. Forgets the lapses. */
  settle(id: string, token: number, progress: JobProgress): Promise<'ok' | 'stopping' | 'lost'>
  /** The next `limit` conversations of the tenant below `after`, created at `at` or before, the newest first, each with whether the filter matches it. */
  scan(request: JobScan): Promise<ScannedConversation[]>
}

export const jobActions = ['cancel', 'retry', 'unquarantine'] as const
export type JobAction = (typeof jobActions)[number]

/** `stopping`: a person has asked it to stop, and a process is in the middle of a batch. */
export type JobState = 'running' | 'stopping' | 'stopped' | 'done'

/** `spec` (what the caller chose) and `report` (the results) are JSON that only the caller interprets. */
export type NewJob = {
  readonly id: string
  readonly tenant: string
  readonly action: JobAction
  readonly who: string
  readonly spec: Json
}

export type StoredJob = NewJob & {
  readonly state: JobState
  readonly createdAt: number
  /** Null until it is stopped or done. */
  readonly finishedAt: number | null
  readonly done: number
  readonly skipped: number
  readonly failed: number
  readonly report: Json
  readonly cursor: JobCursor | null
}

/** `lapses`: how often in a row a process that worked on it let its lease lapse. */
export type ClaimedJob = StoredJob & { readonly token: number; readonly lapses: number }

export type JobCursor = { readonly createdAt: number; readonly id: string }

/** `leaseMs` null: the job is released. `end`: it has ended. */
export type JobProgress = Pick<StoredJob, 'done' | 'skipped' | 'failed' | 'report' | 'cursor'> & {
  readonly leaseMs: number | null
  readonly end?: Extract<JobState, 'stopped' | 'done'>
}

export type JobPage = { readonly before?: string; readonly limit?: number }

/** Which conversations. `isRoot`: only those that no parent waits for. `unchangedSince`: nothing was written to them after that time. */
export type JobFilter = {
  readonly kind?: ConversationKind
  readonly statuses?: readonly ConversationStatus[]
  readonly agent?: string
  readonly owner?: string
  readonly text?: string
  readonly unchangedSince?: number
  readonly isQuarantined?: boolean
  readonly isRoot?: boolean
}

/** `at` null: now. */
export type JobScan = {
  readonly tenant: string
  readonly filter: JobFilter
  readonly at: number | null
  readonly after: JobCursor | null
  readonly limit: number
}

export type ScannedConversation = JobCursor & { readonly matches: boolean }

/** Throws `JobsUnsupportedError` where the store has none. */
export function jobsOf(store: { readonly jobs?: Jobs }): Jobs {
  if (!store.jobs) throw new JobsUnsupportedError()
  return store.jobs
}

/** The times of conversations are in milliseconds, so those of the millisecond of a job count as earlier. */
const momentMs = 2
/** How many conversations one statement reads. */
export const mostScanned = 1_000
const maxSpecBytes = 64 * 1024

/** Checks what callers pass, once for all backends. JSON reaches the driver encoded. */
export function checkedJobs(driver: JobDriver): Jobs {
  return {
    async start(input, keepMs) {
      const { id, tenant, action, who, spec } = readOptions<NewJob, keyof NewJob>('job', input, jobNames)
      checkId('job id', id)
      checkId('tenant', tenant)
      checkOneOf('action', action, jobActions)
      checkId('who', who)
      checkDuration('keepMs', keepMs, 0)
      const text = encode(spec ?? null, 'spec')
      if (Buffer.byteLength(text) > maxSpecBytes)
        throw new InvalidArgumentError('spec', `must have at most ${maxSpecBytes} bytes as JSON`)
      const job = await driver.start({ id, tenant, action, who, spec: text }, keepMs)
      await sleep(momentMs)
      return decoded(job)
    },
    async get(id) {
      checkId('job id', id)
      const job = await driver.get(id)
      return job && decoded(job)
    },
    async list(input) {
      const { before, limit = 100 } = readOptions('page', input, ['before', 'limit'])
      if (before !== undefined) checkId('before', before)
      checkWhole('limit', limit, 1)
      return (await driver.list({ before: before ?? null, limit })).map(decoded)
    },
    async stop(id) {
      checkId('job id', id)
      return driver.stop(id)
    },
    async claim(leaseMs) {
      checkDuration('leaseMs', leaseMs)
      const job = await driver.claim(leaseMs)
      return job && { ...decoded(job), token: job.token, lapses: job.lapses }
    },
    async settle(id, token, progress) {
      checkId('job id', id)
      checkWhole('token', token, 0)
      const { done, skipped, failed, report, cursor, leaseMs, end } = readOptions<JobProgress, keyof JobProgress>(
        'progress',
        progress,
        progressNames,
      )
      for (const [name, count] of Object.entries({ done, skipped, failed })) checkWhole(name, count, 0)
      const place = readCursor('cursor', cursor)
      if (leaseMs !== null) checkDuration('leaseMs', leaseMs)
      if (end !== undefined) checkOneOf('end', end, ['stopped', 'done'])
      return driver.settle(id, token, {
        done: done!,
        skipped: skipped!,
        failed: failed!,
        cursor: place,
        end: end ?? null,
        leaseMs: end === undefined ? leaseMs! : null,
        report: encode(report ?? null, 'report'),
      })
    },
    async scan(input) {
      const { tenant, filter, at, after, limit } = readOptions<JobScan, keyof JobScan>('scan', input, scanNames)
      checkId('tenant', tenant)
      checkWhole('limit', limit, 1)
      if (at !== undefined && at !== null) checkWhole('at', at, 0)
      const scan = { tenant: tenant!, filter: readFilter(filter), at: at ?? null, after: readCursor('after', after) }
      return driver.scan({ ...scan, limit: Math.min(limit!, mostScanned) })
    },
  }
}

function readCursor(name: string, input: JobCursor | null | undefined): JobCursor | null {
  if (input === null || input === undefined) return null
  const { createdAt, id } = readOptions<JobCursor, keyof JobCursor>(name, input, ['createdAt', 'id'])
  checkWhole('createdAt', createdAt, 0)
  checkId('conversation id', id)
  return { createdAt: createdAt!, id: id! }
}

const progressNames = ['done', 'skipped', 'failed', 'report', 'cursor', 'leaseMs', 'end'] as const
const jobNames = ['id', 'tenant', 'action', 'who', 'spec'] as const
const scanNames = ['tenant', 'filter', 'at', 'after', 'limit'] as const
const filterNames = [
  ...(['kind', 'statuses', 'agent', 'owner', 'text', 'unchangedSince', 'isQuarantined', 'isRoot'] as const),
]

function readFilter(input: JobFilter | undefined): JobFilter {
  const filter = readOptions<JobFilter, keyof JobFilter>('filter', input, filterNames)
  const { kind, statuses, agent, owner, text, unchangedSince } = filter
  if (kind !== undefined) checkOneOf('kind', kind, ['conversation', 'flow'])
  for (const status of statuses === undefined ? [] : readList('statuses', statuses))
    checkOneOf('status', status, conversationStatuses)
  if (agent !== undefined) checkId('agent', agent)
  if (owner !== undefined) checkId('owner', owner)
  if (unchangedSince !== undefined) checkWhole('unchangedSince', unchangedSince, 0)
  if (text !== undefined && (typeof text !== 'string' || text === '' || text.length > 200))
    throw new InvalidArgumentError('text', 'must have 1 to 200 characters')
  return filter as JobFilter
}

/** A job as a driver holds it; JSON as text. */
export type JobRow = Omit<StoredJob, 'spec' | 'report'> & { readonly spec: string; readonly report: string | null }

/** What a driver implements. Obligations are those of `Jobs`; every method is atomic. */
export type JobDriver = {
  start(job: Omit<NewJob, 'spec'> & { readonly spec: string }, keepMs: number): Promise<JobRow>
  get(id: string): Promise<JobRow | null>
  list(page: { readonly before: string | null; readonly limit: number }): Promise<JobRow[]>
  stop(id: string): Promise<boolean>
  claim(leaseMs: number): Promise<(JobRow & { readonly token: number; readonly lapses: number }) | null>
  settle(id: string, token: number, progress: StoredProgress): Promise<'ok' | 'stopping' | 'lost'>
  scan(request: JobScan): Promise<ScannedConversation[]>
}

export type StoredProgress = Omit<JobProgress, 'report' | 'end'> & {
  readonly report: string
  readonly end: JobState | null
}

function decoded({ spec, report, ...row }: JobRow): StoredJob {
  const { id, tenant, action, who, state, createdAt, finishedAt, done, skipped, failed, cursor } = row
  const texts = { spec: decode(spec), report: report === null ? null : decode(report) }
  return { id, tenant, action, who, ...texts, state, createdAt, finishedAt, done, skipped, failed, cursor }
}
