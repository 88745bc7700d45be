import type { Socket } from 'node:net'
import type pg from 'pg'
import type { ClientBase, PoolClient, QueryConfig } from 'pg'
import { InvalidArgumentError, MissingDependencyError } from '../../base/errors/store-errors.ts'

/** A query that fails after `timeoutMs` without an answer; 0: never. The connection must not be used afterwards: the answer may still come. */
export function withTimeout<Config extends QueryConfig>(config: Config, timeoutMs: number): Config {
  // Missing in the types of `pg`.
  return { ...config, query_timeout: timeoutMs }
}

/** Breaks the connection when `work` takes longer, so that everything waiting for an answer on it rejects. */
export async function breakingAfter<T>(client: ClientBase, timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => socketOf(client)?.destroy(), timeoutMs)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}

/** Takes a connection out of the pool. Waiting for a goodbye that is never answered would keep the socket, and with it the process, alive. */
export function discard(client: PoolClient): void {
  const socket = socketOf(client)
  client.release(true)
  socket?.destroySoon()
  setTimeout(() => socket?.destroy(), farewellMs).unref()
}

const farewellMs = 1_000

/** Missing in the types of `pg`. */
export function socketOf(client: ClientBase): Socket | undefined {
  return (client as { readonly connection?: { readonly stream?: Socket } }).connection?.stream
}

export type Pg = typeof pg

/** `pg` is an optional peer dependency: only applications with this store install it. */
export async function loadPg(load: () => Promise<{ default: Pg }> = () => import('pg')): Promise<Pg> {
  try {
    return (await load()).default
  } catch (error) {
    throw new MissingDependencyError('pg', 'postgresStore', error)
  }
}

/** Limits how many run at once. The others wait in line, each no longer than the timeout. */
export class Slots {
  readonly #timeoutMs: number
  readonly #tooLong: () => Error
  readonly #waiting = new Set<() => void>()
  #free: number

  /** `tooLong`: creates the error for a caller that waited longer than `timeoutMs`. */
  constructor(count: number, timeoutMs: number, tooLong: () => Error) {
    this.#free = count
    this.#timeoutMs = timeoutMs
    this.#tooLong = tooLong
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await this.#turn()
    try {
      return await work()
    } finally {
      this.#pass()
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(begin)
        reject(this.#tooLong())
      }, this.#timeoutMs)
      this.#waiting.add(begin)
    })
  }

  #pass(): void {
    const [next] = this.#waiting
    if (!next) {
      this.#free += 1
      return
    }
    this.#waiting.delete(next)
    next()
  }
}

/** A commit is answered when it is on disk, and a process that is stopped inside a transaction does not hold its rows for long. */
const ownSettings = ['synchronous_commit = on', "idle_in_transaction_session_timeout = '10s'"]

/** Every query has its index, and plans are made once: a plan made while a table was small must still be right when it is large. */
const planSettings = [
  ...['plan_cache_mode = force_generic_plan', 'enable_seqscan = off', 'enable_hashjoin = off'],
  ...['enable_mergejoin = off', 'max_parallel_workers_per_gather = 0', 'jit = off'],
]

/** The first statement on each connection. A statement sees everything committed before it, whatever the server's defaults are. */
export const sessionSettings = ["default_transaction_isolation = 'read committed'", ...ownSettings, ...planSettings]
  .map((setting) => `SET ${setting}`)
  .join('; ')

/** The same behind a pooler, where each transaction may have another connection: follows the `BEGIN` of each. */
export const transactionSettings = [...ownSettings, ...planSettings].map((setting) => `SET LOCAL ${setting}`).join('; ')

/** Short enough that the name of its notification channel is valid too. */
const pattern = /^[A-Za-z_][A-Za-z0-9_]{0,47}$/

/** The name becomes part of every statement, so only names that need no escaping are accepted. */
export function checkSchemaName(schema: unknown): asserts schema is string {
  if (typeof schema !== 'string' || !pattern.test(schema) || schema.toLowerCase().startsWith('pg_')) {
    throw new InvalidArgumentError(
      'schema',
      `must be 1 to 48 letters, digits and underscores, not begin with a digit or 'pg_'; it is '${String(schema)}'`,
    )
  }
}

export function quoteSchema(schema: string): string {
  checkSchemaName(schema)
  return `"${schema}"`
}

/** Of a `Client` of `pg`; missing in its types. */
export type Unreferenced = { ref(): void; unref(): void }
