import { randomUUID } from 'node:crypto'
import type { Client } from 'pg'
import type { Logger } from '../../logger/logger.ts'
import type { Unsubscribe, WakeHint } from '../../store/store.ts'
import { loadPg } from './load-pg.ts'

export type HintChannelOptions = {
  readonly connectionString: string
  readonly schema: string
  readonly logger: Logger
}

const maxPayloadBytes = 7_900
/** Under load hints are gathered; a lone one is sent at once. */
const minIntervalMs = 5
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
      try {
        const client = await this.#connect()
        for (const payload of payloads(this.#self, batch)) {
          await client.query({ name: 'hint', text: 'SELECT pg_notify($1, $2)', values: [this.#name, payload] })
        }
      } catch (error) {
        this.#options.logger.debug('hints to other processes were lost', { error })
      }
      if (!this.#isClosed) await delay(minIntervalMs)
    }
  }

  async #listenAgain(): Promise<void> {
    try {
      const client = await this.#connect()
      await client.query(`LISTEN "${this.#name}"`)
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
    const [sender, hints] = parse(payload)
    if (sender === this.#self) return
    for (const [tenant, id, seq] of hints) this.#emit?.({ tenant, id, seq })
  }
}

/** Missing in the types of `pg`. */
type Unreferenced = { ref(): void; unref(): void }

type Payload = [sender: string, hints: [tenant: string, id: string, seq: number][]]

function payloads(sender: string, hints: readonly WakeHint[]): string[] {
  const result: string[] = []
  let part: string[] = []
  let bytes = 0
  const flush = (): void => {
    if (part.length > 0) result.push(`["${sender}",[${part.join(',')}]]`)
    part = []
    bytes = 100
  }
  flush()
  for (const { tenant, id, seq } of hints) {
    const text = JSON.stringify([tenant, id, seq])
    const size = Buffer.byteLength(text) + 1
    if (bytes + size > maxPayloadBytes) flush()
    part.push(text)
    bytes += size
  }
  flush()
  return result
}

/** Anybody may notify on the channel: what is not ours is no hint. */
function parse(payload: string): Payload {
  try {
    const value = JSON.parse(payload) as Payload
    return Array.isArray(value) && Array.isArray(value[1]) ? value : ['', []]
  } catch {
    return ['', []]
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
