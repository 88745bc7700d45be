import { InvalidArgumentError } from '../../base/errors/store-errors.ts'
import { safeLogger } from '../../base/redact/redacting-logger.ts'
import { checkWhole } from '../checks.ts'
import { createStore, type StoreOptions } from '../create-store.ts'
import type { CommitOutcome, Driver, PreparedChange } from '../driver.ts'
import type { Store, WakeHint } from '../store.ts'
import { postgresAccounts } from './accounts.ts'
import { commitChange } from './commit-change.ts'
import { checkSchemaName } from './connection.ts'
import { changes, conversations } from './conversations.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { calls, events } from './events.ts'
import { forkConversation } from './fork-and-delete.ts'
import { HintChannel, type HintChannelOptions } from './hints.ts'
import { postgresJobs } from './jobs.ts'
import { leases, movedLogs } from './leases.ts'
import { PostgresLiveBus } from './live-bus.ts'
import { postgresNodes } from './nodes.ts'
import { postgresOutbox } from './outbox.ts'
import { blobs, modelCalls, snapshots, summaries } from './records.ts'
import { postgresSteering } from './steering.ts'
import { postgresUpkeep } from './upkeep/upkeep.ts'

/** Options of `postgresStore`. */
export type PostgresStoreOptions = StoreOptions & {
  /** For example `postgres://user:password@host:5432/database`. */
  readonly connectionString: string
  /**
   * `'transaction'`: the connection string leads to a pooler in transaction mode, such as PgBouncer. Each transaction then brings its own settings, and no statement
   * has a name. Needs `directConnectionString`. Default: none.
   */
  readonly pooler?: 'transaction'
  /** The address of the database itself, for migrations and the connections for hints and live text. Only with `pooler`. */
  readonly directConnectionString?: string
  /** The schema of the tables; created on first use. Default: 'perdure'. */
  readonly schema?: string
  /** Connections in the pool; one of them is kept free for renewing leases. Hints between processes use one more, and live text a third that is opened with the first turn or watcher. Default: 10. */
  readonly max?: number
  /** How long a statement waits for a new or free connection. Default: 10,000. */
  readonly connectTimeoutMs?: number
  /** How long a statement waits for its answer; its connection then counts as broken and is replaced. Default: 20,000. */
  readonly answerTimeoutMs?: number
  /** The same while tables are created or migrated, here or by another process. Default: 600,000. */
  readonly migrateTimeoutMs?: number
  /** How often the connection for hints is checked. Default: 10,000. */
  readonly hintCheckMs?: number
}

const defaults = { schema: 'perdure', max: 10 }
const limits = { connectTimeoutMs: 10_000, answerTimeoutMs: 20_000, migrateTimeoutMs: 600_000, hintCheckMs: 10_000 }

/** A store on a Postgres database, for one process or a fleet. The first call connects, and creates or migrates the tables. */
export function postgresStore(options: PostgresStoreOptions): Store {
  const { connectionString, schema = defaults.schema, max = defaults.max } = options
  if (typeof connectionString !== 'string' || connectionString === '') {
    throw new InvalidArgumentError('connectionString', 'must be a connection string like postgres://user@host/database')
  }
  checkSchemaName(schema)
  checkWhole('max', max, 1)
  const directConnectionString = directAddress(options)
  const { connectTimeoutMs, answerTimeoutMs, migrateTimeoutMs, hintCheckMs } = { ...limits, ...options }
  const waits = { connectTimeoutMs, answerTimeoutMs, migrateTimeoutMs, hintCheckMs }
  for (const [name, ms] of Object.entries(waits)) checkWhole(name, ms, 1)
  const logger = safeLogger(options.logger)
  const address = { connectionString, directConnectionString }
  return createStore(postgresDriver({ ...address, schema, max, logger, ...waits }), options)
}

function directAddress({ pooler, directConnectionString }: PostgresStoreOptions): string | null {
  if (pooler === undefined && directConnectionString === undefined) return null
  if (pooler !== 'transaction')
    throw new InvalidArgumentError(
      'pooler',
      "must be 'transaction' where there is a directConnectionString; leave both out without a pooler",
    )
  if (typeof directConnectionString !== 'string' || directConnectionString === '')
    throw new InvalidArgumentError(
      'directConnectionString',
      'must be the address of the database itself: notifications do not pass a pooler in transaction mode',
    )
  return directConnectionString
}

export function postgresDriver(
  options: DatabaseOptions & HintChannelOptions,
  database: Database = new Database(options),
): Driver {
  const hints = new HintChannel(options)
  const liveBus = new PostgresLiveBus(options)
  const commit = commitChange(database, options.max)
  const takerOf = (
    tenant: string,
    id: string,
    { epoch, releasesLease, wake, expectedAgent, attrs }: PreparedChange,
    outcome: CommitOutcome & { type: 'ok' },
  ): Pick<WakeHint, 'taker'> => {
    const isOwners = epoch !== null && wake.type !== 'in' && (!releasesLease || wake.type === 'clear')
    if (isOwners || outcome.epoch !== undefined) return { taker: null }
    // Who sends a message and could work on it has its lease. What a deadline wakes is for any worker, this process included.
    const taker = hints.takerOf(tenant, id, expectedAgent ?? attrs.agent ?? null, wake.type === 'expiry')
    return taker === null ? {} : { taker }
  }
  return {
    durable: true,
    resends: true,
    async commit(tenant, id, change) {
      const outcome = await commit(tenant, id, change)
      const isNews = change.events.length > 0 || change.wake.type === 'in'
      if (outcome.type !== 'ok' || !isNews) return outcome
      const hint = { tenant, id, seq: outcome.seq, ...takerOf(tenant, id, change, outcome) }
      hints.send(hint)
      const { taker } = change.wake.type === 'expiry' ? hints.heardHere(hint) : {}
      return taker === undefined ? outcome : { ...outcome, taker }
    },
    announce: (worker) => hints.announce(worker),
    ...events(database),
    ...summaries(database),
    ...conversations(database),
    ...changes(database),
    ...calls(database),
    ...modelCalls(database),
    ...leases(database),
    movedLogs: movedLogs(database),
    ...blobs(database),
    ...snapshots(database),
    fork: forkConversation(database),
    upkeep: postgresUpkeep(database),
    jobs: postgresJobs(database),
    outbox: postgresOutbox(database),
    accounts: postgresAccounts(database),
    liveBus,
    nodes: postgresNodes(database),
    steering: postgresSteering(database),
    watchOthers: (emit, onMissed) => hints.listen(emit, onMissed),
    async close() {
      await Promise.all([hints.close(), liveBus.close()])
      await database.close()
    },
  }
}
