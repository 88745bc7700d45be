import { Backoff, type Clock, jittered } from '../base/clock.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { type Logger, rateLimited } from '../base/logger.ts'
import { expiredError } from '../log/call-phase.ts'
import type { Driver, DueCall } from './driver.ts'
import { prepareChange } from './prepare-change.ts'
import type { Unsubscribe, WakeHint } from './store.ts'

/**
 * How often deadlines are looked for. A look tells of the next one, whoever set it, and who sets one has a timer for it. So one is met late only where it comes sooner than the
 * next look and its process has died since, and then by no more than this.
 */
const pollMs = 1_000
const retryMs = 500
const batchSize = 100
/**
 * If other processes ended this many of the calls found by one look, this process leaves the rest to them for a while. Racing for the same calls would not
 * end them any sooner.
 */
const mostLost = 10
const leftMs = 500

type Parts = { readonly driver: Driver; readonly clock: Clock; readonly logger: Logger; readonly hints: HintBus }

/**
 * Ends the calls whose deadline has passed. The query decides: a timer for the earliest known deadline makes it punctual, and a slow poll finds deadlines from
 * other processes. Several processes may do this at once; the commit's guard lets one win.
 */
export class ExpiryLoop {
  readonly #parts: Parts
  readonly #warn: Logger['warn']
  #cancelTimer: (() => void) | null = null
  #wakesAt = Number.POSITIVE_INFINITY
  readonly #backoff = new Backoff()
  #isRunning = false
  #isStopped = true

  constructor(parts: Parts) {
    this.#parts = parts
    this.#warn = rateLimited(parts.logger, () => parts.clock.now())
  }

  start(): void {
    this.#isStopped = false
    this.within(0)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  /** A deadline was set: query again within `ms`. */
  within(ms: number): void {
    if (this.#isStopped) return
    const at = this.#parts.clock.now() + ms
    if (at >= this.#wakesAt) return
    this.#cancelTimer?.()
    this.#wakesAt = at
    this.#cancelTimer = this.#parts.clock.after(ms, () => void this.#tick())
  }

  async #tick(): Promise<void> {
    this.#wakesAt = Number.POSITIVE_INFINITY
    this.#cancelTimer = null
    if (this.#isRunning) return
    this.#isRunning = true
    let nextMs = pollMs
    try {
      nextMs = Math.min(nextMs, await this.#expireDue())
      if (this.#backoff.waitMs > 0) nextMs = Math.max(retryMs, this.#backoff.waitMs)
    } catch (error) {
      this.#backoff.failed()
      nextMs = Math.max(retryMs, this.#backoff.waitMs)
      if (!this.#isStopped) this.#warn('looking for expired calls failed; trying again', { error })
    } finally {
      this.#isRunning = false
      this.within(nextMs)
    }
  }

  /** Returns the time until the next deadline. */
  async #expireDue(): Promise<number> {
    const { due, nextInMs } = await this.#parts.driver.dueCalls(batchSize)
    const results = await Promise.allSettled(due.map((call) => this.#expire(call)))
    // A call that failed to expire stays due, and must not be retried without a pause.
    if (results.some(({ status }) => status === 'rejected')) this.#backoff.failed()
    else {
      this.#backoff.hasRead()
      this.#backoff.hasWritten()
    }
    for (const result of results) {
      if (result.status === 'rejected') {
        if (PerdureError.isInstance(result.reason) && result.reason.code === 'store_closed') continue
        this.#warn('expiring a call failed; trying again', { error: result.reason })
      }
    }
    const lost = results.filter((result) => result.status === 'fulfilled' && !result.value).length
    if (lost >= mostLost) return jittered(leftMs)
    if (due.length === batchSize) return 0
    return nextInMs ?? Number.POSITIVE_INFINITY
  }

  /** False where another process has ended it. */
  async #expire({ tenant, id, callId, round, kind }: DueCall): Promise<boolean> {
    // A question of a session has no deadline. Such a row is damaged, and only its flow ends it.
    if (kind === 'flow') return true
    const result = { ok: false, error: expiredError }
    const content = { callId, round, kind, status: 'expired' as const, value: result, who: 'system' }
    const change = prepareChange(
      { events: [{ type: 'resolution', content }], resolve: [{ callId, round, status: 'expired', result }] },
      { isExpiry: true },
    )
    const outcome = await this.#parts.driver.commit(tenant, id, change)
    if (outcome.type !== 'ok') return false
    const { seq, taker } = outcome
    this.#parts.hints.emit({ tenant, id, seq, ...(taker === undefined ? {} : { taker }) })
    return true
  }
}

type Listener = (hint: WakeHint) => void

/** Passes hints to listeners. Starts watching other processes at the first subscription. */
export class HintBus {
  readonly #listeners = new Set<Listener>()
  readonly #whenMissed = new Set<() => void>()
  readonly #watchOthers: (emit: Listener, onMissed: () => void) => Unsubscribe
  readonly #logger: Logger
  #unwatch: Unsubscribe | null = null

  constructor(watchOthers: (emit: Listener, onMissed: () => void) => Unsubscribe, logger: Logger) {
    this.#watchOthers = watchOthers
    this.#logger = logger
  }

  listen(listener: Listener, onMissed: () => void = () => {}): Unsubscribe {
    this.#listeners.add(listener)
    this.#whenMissed.add(onMissed)
    this.#unwatch ??= this.#watchOthers(
      (hint) => this.emit(hint),
      () => this.#tellOfMissed(),
    )
    return () => {
      this.#listeners.delete(listener)
      this.#whenMissed.delete(onMissed)
      if (this.#listeners.size > 0) return
      this.#unwatch?.()
      this.#unwatch = null
    }
  }

  emit(hint: WakeHint): void {
    for (const listener of this.#listeners) this.#tell(() => listener(hint))
  }

  /** The commit is already durable: a listener that throws must not make it look failed. */
  #tell(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.#logger.error('a listener for wake hints threw', { error })
    }
  }

  #tellOfMissed(): void {
    for (const onMissed of this.#whenMissed) this.#tell(onMissed)
  }

  close(): void {
    this.#listeners.clear()
    this.#whenMissed.clear()
    this.#unwatch?.()
    this.#unwatch = null
  }
}
