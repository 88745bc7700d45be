import { randomUUID } from 'node:crypto'
import type { Client, QueryConfig } from 'pg'
import { pause } from '../../base/abort.ts'
import type { Logger } from '../../base/logger.ts'
import type { Unsubscribe, WakeHint, WorkerHere } from '../store.ts'
import { loadPg, socketOf, type Unreferenced, withTimeout } from './connection.ts'
import { type Announcement, announceMs, announcementOf, Takers, tokenOf } from './takers.ts'

export type HintChannelOptions = {
  readonly connectionString: string
  /** Where there is a pooler: notifications do not pass it. */
  readonly directConnectionString?: string | null
  readonly schema: string
  readonly logger: Logger
  readonly connectTimeoutMs: number
  readonly answerTimeoutMs: number
  /** How often the connection is checked: a dead connection does not report itself. */
  readonly hintCheckMs: number
}

/** Under load hints are collected; a lone one is sent immediately. One that names a worker hands a message over, and waits for less. */
const intervalMs = { most: 20, handOver: 2 }
const pauseAfterFailureMs = 1_000
const reconnectDelaysMs = [50, 200, 1_000, 3_000]
const closeWithinMs = 1_000

/**
 * Hints between processes over NOTIFY, on a separate connection. They are sent after their commit, because a NOTIFY inside it would make all commits of the
 * database wait for each other. Everything here may fail; hints are then lost, and polling finds the work.
 */
export class HintChannel {
  readonly #options: HintChannelOptions
  readonly #name: string
  /** Identifies this process's own messages, which it ignores. */
  readonly #self = randomUUID()
  readonly #waiting = new Map<string, WakeHint>()
  /** Ends the pause between two notifications, when something is handed over. */
  #hurry = new AbortController()
  readonly #takers = { elsewhere: new Takers(), anywhere: new Takers() }
  /** The workers of this process, by what stands for them in notifications. */
  readonly #workers = new Map<string, { readonly worker: WorkerHere; readonly timer: NodeJS.Timeout }>()
  #client: Promise<Client> | null = null
  #lastQuery: Promise<unknown> = Promise.resolve()
  #answeredAt = Number.NEGATIVE_INFINITY
  #sending: Promise<void> | null = null
  #emit: ((hint: WakeHint) => void) | null = null
  #onMissed = (): void => {}
  #hasListened = false
  #reconnects = 0
  /** Whether a warning about lost hints was logged. */
  #isDown = false
  #check: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(options: HintChannelOptions) {
    this.#options = options
    this.#name = `perdure_${options.schema}`
  }

  send(hint: WakeHint): void {
    if (this.#isClosed) return
    const key = `${hint.tenant}\n${hint.id}`
    const earlier = this.#waiting.get(key)
    const waiting = earlier ? together(earlier, hint) : hint
    this.#waiting.set(key, waiting)
    if (isHandOver(waiting)) this.#hurry.abort()
    this.#sending ??= this.#sendWaiting().finally(() => {
      this.#sending = null
    })
  }

  /** The worker that should take a conversation; null when all should look. `isForAny`: also one of this process. */
  takerOf(tenant: string, id: string, agent: string | null, isForAny: boolean): string | null {
    return this.#takers[isForAny ? 'anywhere' : 'elsewhere'].choose(tenant, id, agent)
  }

  /** The hint as this process takes it: a worker of its own is named in full. */
  heardHere(hint: WakeHint): WakeHint {
    const own = typeof hint.taker === 'string' ? this.#workers.get(hint.taker) : undefined
    return own ? { ...hint, taker: own.worker.holder } : hint
  }

  announce(worker: WorkerHere): Unsubscribe {
    const token = tokenOf(worker.holder)
    const timer = setInterval(() => this.#tell(announcementOf(worker)), announceMs).unref()
    this.#workers.set(token, { worker, timer })
    this.#tell(announcementOf(worker))
    return () => {
      clearInterval(timer)
      if (this.#workers.delete(token)) this.#tell({ worker: token, agents: null })
    }
  }

  /** Must not be awaited by work: an announcement that fails is made again soon. */
  #tell(said: Announcement | Question): void {
    if ('worker' in said) this.#takers.anywhere.heard(said)
    if (this.#isClosed || this.#isDown) return
    const payload = JSON.stringify([this.#self, [], said])
    this.#query(this.#notify(payload)).catch((error: unknown) => this.#wentDown(error))
  }

  #notify(payload: string): QueryConfig {
    return { name: 'hint', text: 'SELECT pg_notify($1, $2)', values: [this.#name, payload] }
  }

  listen(emit: (hint: WakeHint) => void, onMissed: () => void = () => {}): Unsubscribe {
    this.#emit = emit
    this.#onMissed = onMissed
    this.#hasListened = false
    void this.#listenAgain()
    this.#check = setInterval(() => void this.#checkConnection(), this.#options.hintCheckMs).unref()
    return () => {
      this.#emit = null
      this.#stopChecking()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const { timer } of this.#workers.values()) clearInterval(timer)
    this.#stopChecking()
    const client = await this.#client?.catch(() => null)
    if (!client) return
    ;(client as Client & Unreferenced).ref()
    await Promise.race([this.#sending, pause(closeWithinMs, { unref: true })])
    await Promise.race([client.end().catch(() => {}), pause(closeWithinMs, { unref: true })])
    socketOf(client)?.destroy()
  }

  /** What workers announce checks it, too. */
  async #checkConnection(): Promise<void> {
    const hasJustAnswered = performance.now() - this.#answeredAt < this.#options.hintCheckMs / 2
    if (this.#isDown || this.#isClosed || hasJustAnswered) return
    try {
      await this.#query({ text: 'SELECT 1' })
    } catch (error) {
      this.#wentDown(error)
    }
  }

  #stopChecking(): void {
    if (this.#check) clearInterval(this.#check)
    this.#check = null
  }

  #wentDown(error: unknown): void {
    if (this.#isDown || this.#isClosed) return
    this.#isDown = true
    this.#options.logger.warn('the connection for hints broke; work is found by polling until it is back', { error })
  }

  async #sendWaiting(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting.values()]
      this.#waiting.clear()
      this.#hurry = new AbortController()
      let isSent = true
      try {
        for (const payload of hintPayloads(this.#self, batch)) {
          await this.#query(this.#notify(payload))
        }
      } catch (error) {
        isSent = false
        this.#wentDown(error)
      }
      if (this.#isClosed) return
      await (isSent ? this.#pauseBetween() : pause(pauseAfterFailureMs, { unref: true }))
    }
  }

  async #pauseBetween(): Promise<void> {
    const { most, handOver } = intervalMs
    await pause(handOver, { unref: true })
    await pause(most - handOver, { signal: this.#hurry.signal, unref: true })
  }

  async #listenAgain(): Promise<void> {
    try {
      await this.#query({ text: `LISTEN "${this.#name}"` })
      this.#reconnects = 0
      if (this.#isDown) this.#options.logger.info('the connection for hints is back')
      this.#isDown = false
      if (this.#hasListened) this.#onMissed()
      this.#hasListened = true
      this.#tell({ asks: 'who takes work' })
      for (const { worker } of this.#workers.values()) this.#tell(announcementOf(worker))
    } catch (error) {
      this.#wentDown(error)
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

  /** One query at a time, as `pg` requires. */
  #query(config: QueryConfig): Promise<void> {
    const result = this.#lastQuery.then(async () => {
      const client = await this.#connect()
      try {
        await client.query(withTimeout(config, this.#options.answerTimeoutMs))
        this.#answeredAt = performance.now()
      } catch (error) {
        // It may never answer. Closing the socket makes the channel reconnect.
        socketOf(client)?.destroy()
        throw error
      }
    })
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
    const { connectTimeoutMs: connectionTimeoutMillis, answerTimeoutMs } = this.#options
    const connectionString = this.#options.directConnectionString ?? this.#options.connectionString
    const client = new pg.Client({ connectionString, keepAlive: true, connectionTimeoutMillis })
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
    await client.query(withTimeout({ text: 'SET synchronous_commit = off' }, answerTimeoutMs))
    ;(client as Client & Unreferenced).unref()
    return client
  }

  #receive(payload: string): void {
    const { hints, said } = messageIn(payload, this.#self)
    for (const hint of hints) this.#emit?.(this.heardHere(hint))
    if (said === null) return
    if ('worker' in said) for (const takers of Object.values(this.#takers)) takers.heard(said)
    else for (const { worker } of this.#workers.values()) this.#tell(announcementOf(worker))
  }
}

/** A NOTIFY payload must be shorter than 8,000 bytes. */
const maxPayloadBytes = 7_900
const frameBytes = 100

/** Asks all workers to announce themselves. */
type Question = { readonly asks: string }

/** `taker`: the token of a worker; 0: there is nothing to take. Earlier versions ignore it and the announcements. */
type Payload = [
  sender: string,
  hints: [tenant: string, id: string, seq: number, taker?: string | 0][],
  said?: Announcement | Question,
]

/** One worker is to take it, and waits for it. */
function isHandOver({ taker }: WakeHint): boolean {
  return typeof taker === 'string'
}

/** Of two hints for one conversation: what is to be taken stays to be taken. */
function together(earlier: WakeHint, later: WakeHint): WakeHint {
  const { taker, ...newest } = later.seq >= earlier.seq ? later : earlier
  const takers = [earlier.taker, later.taker].filter((one) => one !== null)
  if (takers.length === 0) return { ...newest, taker: null }
  return takers.includes(undefined) ? newest : { ...newest, taker: takers.at(-1)! }
}

/** Packs the hints of one sender into as few messages as fit. */
function hintPayloads(sender: string, hints: readonly WakeHint[]): string[] {
  const parts: string[][] = []
  let bytes = maxPayloadBytes
  for (const { tenant, id, seq, taker } of hints) {
    const text = JSON.stringify([tenant, id, seq, ...(taker === undefined ? [] : [taker ?? 0])])
    const size = Buffer.byteLength(text) + 1
    if (bytes + size > maxPayloadBytes) {
      parts.push([])
      bytes = frameBytes
    }
    parts.at(-1)!.push(text)
    bytes += size
  }
  return parts.map((part) => `[${JSON.stringify(sender)},[${part.join(',')}]]`)
}

/** Empty for messages sent by `self`, and for anything else: any client may notify on the channel. */
function messageIn(
  payload: string,
  self: string,
): { readonly hints: WakeHint[]; readonly said: Announcement | Question | null } {
  const nothing = { hints: [], said: null }
  try {
    const [sender, hints, said] = JSON.parse(payload) as Payload
    if (sender === self) return nothing
    return { hints: hints.map(hintIn), said: said === undefined ? null : checkedSaid(said) }
  } catch {
    return nothing
  }
}

function hintIn([tenant, id, seq, taker]: Payload[1][number]): WakeHint {
  return { tenant, id, seq, ...(taker === undefined ? {} : { taker: taker === 0 ? null : taker }) }
}

function checkedSaid(said: Announcement | Question): Announcement | Question | null {
  if (!('worker' in said)) return 'asks' in said ? said : null
  const { worker, agents } = said
  const isKnown = agents === null || agents === 'any' || Array.isArray(agents)
  return typeof worker === 'string' && isKnown ? said : null
}
