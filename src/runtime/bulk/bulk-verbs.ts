import { readOptions } from '../../base/errors/read-options.ts'
import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import { isSameJson } from '../../base/json.ts'
import { uuidV7 } from '../../base/uuid-v7.ts'
import { checkId } from '../../store/checks.ts'
import { type JobCursor, type JobPage, jobsOf, mostScanned } from '../../store/jobs.ts'
import type { Store } from '../../store/store.ts'
import {
  asJson,
  type BulkJob,
  type BulkRequest,
  type BulkStart,
  bulkJob,
  readRequest,
  requestNames,
  specOf,
  storeFilterOf,
} from './bulk-request.ts'

/** What `count` found. `isPartial`: only the newest conversations were looked at. */
export type BulkCount = { readonly matches: number; readonly isPartial: boolean }

/** Bulk jobs: durable, over many conversations of one tenant. For operators; `authorize` is not asked. */
export type Bulk = {
  /**
   * How many rows match now. A job may skip some of them, whose logs say otherwise. Reads the newest 100,000 conversations of the tenant at most.
   */
  count(request: BulkRequest): Promise<BulkCount>
  /**
   * Starts a job. Durable when it resolves: any working process continues it if another dies. It is for conversations that exist now, and for turns and
   * quarantines that began before.
   */
  start(request: BulkStart): Promise<BulkJob>
  /** The newest first. A job is kept for 30 days after its end. */
  list(page?: JobPage): Promise<BulkJob[]>
  /** Null when there is none. */
  get(id: string): Promise<BulkJob | null>
  /** Ends a job after the conversations that it is working on, at most eight. False when it has ended, or there is none. */
  stop(id: string): Promise<boolean>
}

const day = 24 * 3_600_000
const keepMs = 30 * day
const mostCounted = 100_000

/** The verbs on a store: they need no runtime, and any process may call them. */
export function bulkVerbs(store: Pick<Store, 'jobs'>): Bulk {
  return {
    async count(given) {
      const { action, tenant, filter } = readRequest(given)
      const wanted = storeFilterOf(action, filter, Date.now())
      let after: JobCursor | null = null
      let matches = 0
      for (let scanned = 0; scanned < mostCounted; scanned += mostScanned) {
        const scan = { tenant, filter: wanted, at: null, after, limit: mostScanned }
        const rows = await jobsOf(store).scan(scan)
        matches += rows.filter((row) => row.matches).length
        if (rows.length < mostScanned) return { matches, isPartial: false }
        const { createdAt, id } = rows.at(-1)!
        after = { createdAt, id }
      }
      return { matches, isPartial: true }
    },
    async start(given) {
      const {
        id = uuidV7(),
        who = 'system',
        ...request
      } = readOptions<BulkStart, keyof BulkStart>('request', given, [...requestNames, 'id', 'who'])
      checkId('job id', id)
      checkId('who', who)
      const { action, tenant, ...spec } = readRequest(request as BulkRequest)
      const job = await jobsOf(store).start({ id, tenant, action, who, spec: asJson(spec) }, keepMs)
      const isSame = job.tenant === tenant && job.action === action && isSameJson(asJson(specOf(job)), asJson(spec))
      if (!isSame) throw new InvalidArgumentError('id', `is that of another job: '${job.action}' of '${job.tenant}'`)
      return bulkJob(job)
    },
    list: async (page) => (await jobsOf(store).list(page)).map(bulkJob),
    async get(id) {
      const job = await jobsOf(store).get(id)
      return job && bulkJob(job)
    },
    stop: async (id) => jobsOf(store).stop(id),
  }
}
