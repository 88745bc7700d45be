import { randomUUID } from 'node:crypto'
import type { Client, QueryConfig } from 'pg'
import type { Logger } from '../../logger/logger.ts'
import type { Unsubscribe, WakeHint } from '../../store/store.ts'
import { hintPayloads, hintsIn } from './hint-payload.ts'
import { loadPg } from './load-pg.ts'

export type HintChannelOptions = {
  readonly connectionString: string
  readonly schema: string
  readonly logger: Logger
}

/** Under load hints are gathered; a lone one is sent at once. */
const minIntervalMs = 20
const pauseAfterFailureMs = 1_000
const reconnectDelaysMs = [50, 200, 1_000, 3_000]
const closeWithinMs = 1_000

/**
 * Hints between processes over NOTIFY, on a connection of their own. They are sent after the commit they tell of, because a NOTIFY inside
 * would make all commits of the database wait for each other. Everything here may fail; then hints are lost, and polling finds the work.
 */
export class HintChannel {
  readonly #options: HintChannelOptions
  readonly #name: string
  /** What we sent ourselves is known in this process already. */
  readonly #self = randomUUID()
  readonly #waiting = new Map<string, WakeHint>()
  #client: Promise<Client> | null = null
  #lastQuery: Promise<unknown> = Promise.resolve()
  #sending: Promise<void> | null = null
  #emit: ((hint: WakeHint) => void) | null = null
  #reconnects = 0
  #isClosed = false

  constructor(options: HintChannelOptions) {
    this.#options = options
    this.#name = `perdure_${options.schema}`
  }

  send(hint: WakeHint): void {
    if (this.#isClosed) return
    const key = `${hint.tenant}\n${hint.id}`
    const earlier = this.#waiting.get(key)
    this.#waiting.set(key, earlier && earlier.seq > hint.seq ? earlier : hint)
    this.#sending ??= this.#sendWaiting().finally(() => {
      this.#sending = null
    })
  }

  listen(emit: (hint: WakeHint) => void): Unsubscribe {
    this.#emit = emit
    void this.#listenAgain()
    return () => {
      this.#emit = null
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const client = await this.#client?.catch(() => null)
    if (!client) return
    ;(client as Client & Unreferenced).ref()
    await Promise.race([this.#sending, delay(closeWithinMs)])
    await client.end().catch(() => {})
  }

  async #sendWaiting(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting.values()]
      this.#waiting.clear()
      let pauseMs = minIntervalMs
      try {
        for (const payload of hintPayloads(this.#self, batch)) {
          await this.#query({ name: 'hint', text: 'SELECT pg_notify($1, $2)', values: [this.#name, payload] })
        }
      } catch (error) {
        pauseMs = pauseAfterFailureMs
        this.#options.logger.debug('hints to other processes were lost', { error })
      }
      if (this.#isClosed) return
      await delay(pauseMs)
    }
  }

  async #listenAgain(): Promise<void> {
    try {
      await this.#query({ text: `LISTEN "${this.#name}"` })
      this.#reconnects = 0
    } catch (error) {
      this.#options.logger.debug('listening for hints failed; trying again', { error })
      this.#reconnectLater()
    }
  }

  #reconnectLater(): void {
    if (this.#isClosed || !this.#emit) return
    const delayMs = reconnectDelaysMs[Math.min(this.#reconnects, reconnectDelaysMs.length - 1)]!
    this.#reconnects += 1
    setTimeout(() => {
      if (!this.#isClosed && this.#emit) void this.#listenAgain()
    }, delayMs).unref()
  }

  /** One at a time, as `pg` wants it. */
  #query(config: QueryConfig): Promise<unknown> {
    const result = this.#lastQuery.then(async () => (await this.#connect()).query(config))
    this.#lastQuery = result.catch(() => {})
    return result
  }

  #connect(): Promise<Client> {
    this.#client ??= this.#open().catch((error: unknown) => {
      this.#client = null
      throw error
    })
    return this.#client
  }

  async #open(): Promise<Client> {
    const pg = await loadPg()
    const client = new pg.Client({ connectionString: this.#options.connectionString, keepAlive: true })
    let isUp = false
    const onDown = (): void => {
      if (!isUp) return
      isUp = false
      this.#client = null
      this.#reconnectLater()
    }
    client.on('error', onDown)
    client.on('end', onDown)
    client.on('notification', ({ payload }) => this.#receive(payload ?? ''))
    await client.connect()
    isUp = true
    // A hint must not wait for the disk, nor keep the process alive; but while it connects, a `close` may wait for it.
    await client.query('SET synchronous_commit = off')
    ;(client as Client & Unreferenced).unref()
    return client
  }

  #receive(payload: string): void {
    for (const hint of hintsIn(payload, this.#self)) this.#emit?.(hint)
  }
}

/** Missing in the types of `pg`. */
type Unreferenced = { ref(): void; unref(): void }

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
