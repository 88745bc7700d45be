import type { Pool, PoolClient } from 'pg'
import { pause } from '../../base/abort.ts'
import { jittered } from '../../base/clock.ts'
import { failpoint } from '../../base/failpoint.ts'
import { type Logger, rateLimited } from '../../base/logger.ts'
import {
  discard,
  loadPg,
  type Pg,
  quoteSchema,
  Slots,
  sessionSettings,
  transactionSettings,
  withTimeout,
} from './connection.ts'
import { type FailureKind, failureOf, poolBusy } from './failure.ts'
import { migrate, readSchemaVersion } from './migrate.ts'

export type DatabaseOptions = {
  readonly connectionString: string
  /** Leads past a pooler that gives each transaction any connection: for migrations. Default: there is no pooler. */
  readonly directConnectionString?: string | null
  readonly schema: string
  readonly max: number
  readonly logger: Logger
  /** The longest wait for a connection, for an answer, and for an answer while migrating. */
  readonly connectTimeoutMs: number
  readonly answerTimeoutMs: number
  readonly migrateTimeoutMs: number
}

/** A statement that each connection prepares once. The name must belong to this text alone. */
export type Statement = {
  readonly name: string
  readonly text: string
  /** Time without an answer after which the connection counts as broken; 0: never. Default: the store's `answerTimeoutMs`. */
  readonly timeoutMs?: number
  /** Does not wait for a connection behind other statements: with several connections, one is kept free for urgent ones. Default: false. */
  readonly isUrgent?: boolean
}

/** What to do when the connection breaks before the answer. `repeat` only where a second run changes nothing. */
export type WhenLost = 'repeat' | 'reject'

export type Query = <Row>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>

const beginPooled = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/** An attempt that takes longer, as with a host that does not answer, is not repeated. */
const repeatWithinMs = 5_000
const retryDelaysMs = [20, 60, 150, 300, 500, 800]

/** The pool: connects on first use, migrates, and retries what can safely be retried. */
export class Database {
  readonly schema: string
  readonly #options: DatabaseOptions
  readonly #configured = new WeakSet<PoolClient>()
  readonly #warn: Logger['warn']
  readonly #ordinary: Slots
  #opening: Promise<Pool> | null = null

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.#warn = rateLimited(options.logger, () => performance.now())
    this.schema = quoteSchema(options.schema)
    this.#ordinary = new Slots(Math.max(1, options.max - 1), options.connectTimeoutMs, () => this.#poolBusy())
  }

  /** One statement in its own transaction. */
  run<Row>(statement: Statement, values: readonly unknown[], whenLost: WhenLost = 'repeat'): Promise<Row[]> {
    if (this.#isPooled) {
      const work = async (query: Query) => ({ commit: true, value: await query<Row>(statement, values) })
      return this.#transaction(work, whenLost, statement.isUrgent)
    }
    const work = async (client: PoolClient, onSent: () => void): Promise<Row[]> => {
      onSent()
      const answer = this.#queryOn(client)<Row>(statement, values)
      if (whenLost === 'repeat') return answer
      // The server has the statement, and its outcome is not known here yet.
      failpoint('store.inside_transaction')
      const rows = await answer
      failpoint('store.after_transaction')
      return rows
    }
    return this.#attempt(whenLost, work, statement.isUrgent)
  }

  /** Several statements in one transaction, which is started again if it was rolled back. `work` says whether to commit. */
  transaction<T>(
    work: (query: Query) => Promise<{ commit: boolean; value: T }>,
    whenLost: WhenLost = 'reject',
  ): Promise<T> {
    return this.#transaction(work, whenLost)
  }

  #transaction<T>(
    work: (query: Query) => Promise<{ commit: boolean; value: T }>,
    whenLost: WhenLost,
    isUrgent = false,
  ): Promise<T> {
    const attempt = async (client: PoolClient, onSent: () => void): Promise<T> => {
      await this.#ask(client, this.#isPooled ? `${beginPooled}; ${transactionSettings}` : 'BEGIN')
      const { commit, value } = await work(this.#queryOn(client))
      if (commit) onSent()
      failpoint('store.inside_transaction')
      // Durable from here: once answered, the whole transaction is on disk; a crash before it finds none of it.
      await this.#ask(client, commit ? 'COMMIT' : 'ROLLBACK')
      failpoint('store.after_transaction')
      return value
    }
    return this.#attempt(whenLost, attempt, isUrgent)
  }

  /** A session is not the same connection from one transaction to the next: its earlier settings are gone, and statements have no names. */
  get #isPooled(): boolean {
    return (this.#options.directConnectionString ?? null) !== null
  }

  /** One connection for as long as `work` takes, in one transaction. Nothing is retried: effects of `work` outside the database cannot be undone here. */
  session<T>(begin: string, work: (query: Query) => Promise<{ commit: boolean; value: T }>): Promise<T> {
    return this.#ordinary.use(() => this.#session(begin, work))
  }

  async #session<T>(begin: string, work: (query: Query) => Promise<{ commit: boolean; value: T }>): Promise<T> {
    const client = await this.#connect().catch((error: unknown) => {
      throw failureOf(error, false).error
    })
    let isSent = false
    const telling = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
      answer.catch((error: unknown) => {
        throw failureOf(error, isSent).error
      })
    let isHealthy = false
    try {
      await telling(this.#ask(client, this.#isPooled ? `${begin}; ${transactionSettings}` : begin))
      const { commit, value } = await work((statement, values) => telling(this.#queryOn(client)(statement, values)))
      isSent = commit
      // Durable from here: once answered, the whole transaction is on disk; a crash before it finds none of it.
      await telling(this.#ask(client, commit ? 'COMMIT' : 'ROLLBACK'))
      isHealthy = true
      return value
    } finally {
      if (isHealthy) client.release()
      else discard(client)
    }
  }

  /** The number of migrations that have run, without running any; null when there are none. */
  async version(): Promise<number | null> {
    const { Client } = await loadPg()
    const { connectionString, directConnectionString, connectTimeoutMs, answerTimeoutMs } = this.#options
    const client = new Client({
      connectionString: directConnectionString ?? connectionString,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: answerTimeoutMs,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return await readSchemaVersion(client, this.#options.schema)
    } catch (error) {
      throw failureOf(error, false).error
    } finally {
      await client.end().catch(() => {})
    }
  }

  async close(): Promise<void> {
    const pool = await this.#opening?.catch(() => null)
    await pool?.end()
  }

  async #attempt<T>(
    whenLost: WhenLost,
    work: (client: PoolClient, onSent: () => void) => Promise<T>,
    isUrgent = false,
  ): Promise<T> {
    const until = performance.now() + repeatWithinMs
    let maybeDone: Error | null = null
    for (let attempt = 0; ; attempt++) {
      let isSent = false
      const once = (): Promise<T> =>
        this.#once((client) =>
          work(client, () => {
            isSent = true
          }),
        )
      try {
        return await (isUrgent ? once() : this.#ordinary.use(once))
      } catch (error) {
        const { kind, error: failure } = failureOf(error, isSent)
        if (kind === 'lost') maybeDone = failure
        const isLast = attempt >= retryDelaysMs.length || performance.now() > until
        if (isLast || !canRepeat(kind, whenLost)) throw maybeDone ?? failure
        await pause(jittered(retryDelaysMs[attempt] ?? 0))
      }
    }
  }

  async #once<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect()
    try {
      const value = await work(client)
      client.release()
      return value
    } catch (error) {
      // After an error, a connection may be broken or inside a transaction.
      discard(client)
      throw error
    }
  }

  async #connect(): Promise<PoolClient> {
    this.#opening ??= this.#open()
    const opening = this.#opening
    const pool = await opening.catch((error: unknown) => {
      // The next use opens it again, unless another caller has already started to.
      if (this.#opening === opening) this.#opening = null
      throw error
    })
    const client = await this.#fromPool(pool)
    if (!this.#configured.has(client)) await this.#configure(client)
    return client
  }

  async #fromPool(pool: Pool): Promise<PoolClient> {
    try {
      return await pool.connect()
    } catch (error) {
      const isBusy = pool.totalCount >= this.#options.max && pool.idleCount === 0
      throw isBusy ? this.#poolBusy() : error
    }
  }

  #poolBusy(): Error {
    const { max, connectTimeoutMs } = this.#options
    this.#warn('all connections to Postgres are busy', { max, waitedMs: connectTimeoutMs })
    return poolBusy(max, connectTimeoutMs)
  }

  async #open(): Promise<Pool> {
    const pg = await loadPg()
    const { connectionString, max, logger, connectTimeoutMs } = this.#options
    const pool = new pg.Pool({
      connectionString,
      max,
      connectionTimeoutMillis: connectTimeoutMs,
      allowExitOnIdle: true,
      keepAlive: true,
      types: { getTypeParser: typeParsers(pg) },
    })
    // Without a listener a broken connection would end the process; its query rejects anyway.
    pool.on('connect', (client) => client.on('error', () => {}))
    // An idle connection that breaks is replaced when one is needed.
    pool.on('error', (error) => logger.debug('an idle connection to Postgres broke', { error }))
    try {
      await this.#migrate(pg, pool)
      return pool
    } catch (error) {
      await pool.end()
      throw error
    }
  }

  async #migrate(pg: Pg, pool: Pool): Promise<void> {
    const { directConnectionString = null, connectTimeoutMs } = this.#options
    if (directConnectionString === null) return migrate(pool, this.#options)
    const direct = new pg.Pool({
      connectionString: directConnectionString,
      max: 1,
      connectionTimeoutMillis: connectTimeoutMs,
    })
    direct.on('connect', (client) => client.on('error', () => {}))
    direct.on('error', (error) => this.#options.logger.debug('an idle connection to Postgres broke', { error }))
    try {
      await migrate(direct, this.#options)
    } finally {
      await direct.end()
    }
  }

  async #configure(client: PoolClient): Promise<void> {
    if (this.#isPooled) return
    try {
      await this.#ask(client, sessionSettings)
      this.#configured.add(client)
    } catch (error) {
      discard(client)
      throw error
    }
  }

  #ask(client: PoolClient, text: string): Promise<unknown> {
    return client.query(withTimeout({ text }, this.#options.answerTimeoutMs))
  }

  #queryOn(client: PoolClient): Query {
    return async <Row>({ name, text, timeoutMs }: Statement, values: readonly unknown[]) => {
      const config = { ...(this.#isPooled ? {} : { name }), text, values: values as unknown[] }
      const { rows } = await client.query(withTimeout(config, timeoutMs ?? this.#options.answerTimeoutMs))
      return rows as Row[]
    }
  }
}

function canRepeat(kind: FailureKind, whenLost: WhenLost): boolean {
  if (kind === 'refused') return false
  return kind !== 'lost' || whenLost === 'repeat'
}

/** Parses bigints as numbers: all of Perdure's are safe integers. */
function typeParsers(pg: Pg): Pg['types']['getTypeParser'] {
  const int8 = 20
  return ((oid: number, format: 'text' | 'binary' = 'text') =>
    oid === int8 && format === 'text'
      ? Number
      : pg.types.getTypeParser(oid, format as 'text')) as Pg['types']['getTypeParser']
}
