import { onAbort } from '../base/abort.ts'
import { RateLimitedError } from '../base/errors/server-errors.ts'
import { yieldToEventLoop } from '../store/log-pages.ts'
import type { RouteCall } from './route.ts'

export type ByteBudgetLimits = {
  /** Shared by all responses, from the first read until their clients have received them. */
  readonly bytes: number
  /** How many responses are built at once. Default: 8. */
  readonly atOnce?: number
  /** A client that has read nothing for this long may be cut off to free memory for others. Default: 2,000. */
  readonly graceMs?: number
}

const stallCheckMs = 250
const retryAfterMs = 1_000

/**
 * Limits the memory used by large responses. A request waits until its reservation fits. When the limit is reached, the
 * client that has stalled longest is disconnected.
 */
export class ByteBudget {
  readonly #limits: Required<ByteBudgetLimits>
  readonly #reservations = new Set<Reservation>()
  #waiting: Waiter[] = []
  #timer: NodeJS.Timeout | null = null

  constructor({ bytes, atOnce = 8, graceMs = 2_000 }: ByteBudgetLimits) {
    this.#limits = { bytes, atOnce, graceMs }
  }

  get reservedBytes(): number {
    let total = 0
    for (const { bytes } of this.#reservations) total += bytes
    return total
  }

  /** Waits for memory. Throws `RateLimitedError` after `waitMs`, or when the signal aborts. */
  async reserve(
    bytes: number,
    { signal, waitMs }: { readonly signal: AbortSignal; readonly waitMs: number },
  ): Promise<Reservation> {
    const wanted = Math.min(bytes, this.#limits.bytes)
    if (this.#waiting.length === 0 && this.#fits(wanted)) return this.#add(wanted)
    const waiting = new Waiter(wanted)
    this.#waiting.push(waiting)
    this.#watch()
    const giveUp = setTimeout(() => waiting.reject(new RateLimitedError(retryAfterMs, problem)), waitMs)
    const ignoreSignal = onAbort(signal, () => waiting.reject(new RateLimitedError(retryAfterMs, problem)))
    try {
      return await waiting.promise
    } finally {
      clearTimeout(giveUp)
      ignoreSignal()
      this.#waiting = this.#waiting.filter((other) => other !== waiting)
      this.#admit()
    }
  }

  #fits(bytes: number): boolean {
    let building = 0
    for (const reservation of this.#reservations) if (reservation.isBuilding) building += 1
    return building < this.#limits.atOnce && this.reservedBytes + bytes <= this.#limits.bytes
  }

  #add(bytes: number): Reservation {
    const reservation = new Reservation(bytes, (isGone) => {
      if (isGone) this.#reservations.delete(reservation)
      this.#admit()
    })
    this.#reservations.add(reservation)
    return reservation
  }

  /** First come, first served, so small requests cannot starve a large one. */
  #admit(): void {
    for (let next = this.#waiting[0]; next && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      next.resolve(this.#add(next.bytes))
    }
    if (this.#waiting.length > 0 || !this.#timer) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#cutOffStalled(), stallCheckMs).unref()
  }

  #cutOffStalled(): void {
    const [next] = this.#waiting
    if (!next || this.reservedBytes + next.bytes <= this.#limits.bytes) return
    const since = performance.now() - this.#limits.graceMs
    const stalled = [...this.#reservations].filter(({ isBuilding, movedAt }) => !isBuilding && movedAt < since)
    stalled.sort((one, other) => one.movedAt - other.movedAt)[0]?.cutOff()
  }
}

const problem = 'Too many large responses are waiting for their clients (limits.unsentBytes)'

/** Memory reserved for one response, from reading its data until the client has received it. */
export class Reservation {
  readonly #onChange: (isGone: boolean) => void
  #bytes: number
  #isBuilding = true
  #movedAt = performance.now()
  #cutOff: () => void = () => {}

  constructor(bytes: number, onChange: (isGone: boolean) => void) {
    this.#bytes = bytes
    this.#onChange = onChange
  }

  get bytes(): number {
    return this.#bytes
  }

  get isBuilding(): boolean {
    return this.#isBuilding
  }

  get movedAt(): number {
    return this.#movedAt
  }

  /** Disconnects the client and frees the memory. */
  cutOff(): void {
    this.#cutOff()
    this.release()
  }

  release(): void {
    this.#bytes = 0
    this.#isBuilding = false
    this.#onChange(true)
  }

  /**
   * Keeps `bytes` while the request waits for an event. `giveUp` is called when it has waited past the grace time and
   * others need the memory.
   */
  keep(bytes: number, giveUp: () => void): void {
    this.#isBuilding = false
    this.#bytes = bytes
    this.#cutOff = giveUp
    this.#onChange(false)
  }

  /** Keeps only the size of the finished response until the client has received it. */
  holdUntilSent(response: Response): Response {
    const bytes = Number(response.headers.get('content-length') ?? this.#bytes)
    if (!response.body || bytes === 0) {
      this.release()
      return response
    }
    this.#isBuilding = false
    this.#bytes = bytes
    this.#movedAt = performance.now()
    this.#onChange(false)
    return new Response(this.#tracked(response.body.getReader()), response)
  }

  /** Each pull means that the client has room for another piece. */
  #tracked(reader: ReadableStreamDefaultReader<Uint8Array>): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#cutOff = () => {
            controller.error(new StalledClientError())
            void reader.cancel().catch(() => {})
          }
        },
        pull: async (controller) => {
          this.#movedAt = performance.now()
          const { done, value } = await reader.read()
          if (value) controller.enqueue(value)
          if (!done) return
          this.release()
          controller.close()
        },
        cancel: (reason) => {
          this.release()
          return reader.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
  }
}

/** Ends the response of a stalled client. Only the code that pipes the response sees it. */
export class StalledClientError extends Error {
  override readonly name = 'StalledClientError'
}

class Waiter {
  readonly bytes: number
  readonly promise: Promise<Reservation>
  readonly resolve: (reservation: Reservation) => void
  readonly reject: (reason: unknown) => void

  constructor(bytes: number) {
    this.bytes = bytes
    const { promise, resolve, reject } = Promise.withResolvers<Reservation>()
    this.promise = promise
    this.resolve = resolve
    this.reject = reject
  }
}

/**
 * Reserves memory before `handle` reads anything, and holds it until the client has received the response. A null
 * result frees it at once.
 */
export async function withinByteBudget<Answer extends Response | null>(
  { request, server }: Pick<RouteCall, 'request' | 'server'>,
  handle: () => Promise<Answer>,
): Promise<Response | (Answer & null)> {
  const { answerBytes, waitMs } = server.settings.limits
  const reservation = await server.byteBudget.reserve(answerBytes, { signal: request.signal, waitMs })
  try {
    // A store that answers synchronously would otherwise serve all waiting requests in one tick.
    await yieldToEventLoop()
    const answer = await handle()
    if (answer) return reservation.holdUntilSent(answer)
    reservation.release()
    return answer as Answer & null
  } catch (error) {
    reservation.release()
    throw error
  }
}
