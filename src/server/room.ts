import { onAbort } from '../base/abort.ts'
import { RateLimitedError } from '../base/errors/server-errors.ts'
import { yieldToEventLoop } from '../store/log-pages.ts'
import type { RouteCall } from './route.ts'

export type RoomLimits = {
  /** Of all answers together, from when they are read until their clients have taken them. */
  readonly bytes: number
  /** How many answers are read and written out at once. Default: 8. */
  readonly atOnce?: number
  /** A client that has taken nothing for so long is cut off when others need its room. Default: 2,000. */
  readonly graceMs?: number
}

const lookAgainMs = 250
const retryAfterMs = 1_000

/**
 * Room in memory for answers that may be large. Whoever wants some waits until there is. Clients that do not take theirs keep nobody waiting for long: the one
 * that has stood still longest is cut off.
 */
export class Room {
  readonly #limits: Required<RoomLimits>
  readonly #places = new Set<Place>()
  #waiting: Waiting[] = []
  #timer: NodeJS.Timeout | null = null

  constructor({ bytes, atOnce = 8, graceMs = 2_000 }: RoomLimits) {
    this.#limits = { bytes, atOnce, graceMs }
  }

  /** Bytes that are taken now. */
  get taken(): number {
    let total = 0
    for (const { bytes } of this.#places) total += bytes
    return total
  }

  /** Resolves when there is room. Throws `RateLimitedError` when there is none in time, and when the signal says that nobody waits any more. */
  async take(
    bytes: number,
    { signal, waitMs }: { readonly signal: AbortSignal; readonly waitMs: number },
  ): Promise<Place> {
    const wanted = Math.min(bytes, this.#limits.bytes)
    if (this.#waiting.length === 0 && this.#hasRoomFor(wanted)) return this.#add(wanted)
    const waiting = new Waiting(wanted)
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

  #hasRoomFor(bytes: number): boolean {
    let building = 0
    for (const place of this.#places) if (place.isBuilding) building += 1
    return building < this.#limits.atOnce && this.taken + bytes <= this.#limits.bytes
  }

  #add(bytes: number): Place {
    const place = new Place(bytes, (isGone) => {
      if (isGone) this.#places.delete(place)
      this.#admit()
    })
    this.#places.add(place)
    return place
  }

  /** In the order they came, so that a large one is not passed by for ever. */
  #admit(): void {
    for (let next = this.#waiting[0]; next && this.#hasRoomFor(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      next.resolve(this.#add(next.bytes))
    }
    if (this.#waiting.length > 0 || !this.#timer) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#cutOffStalled(), lookAgainMs).unref()
  }

  #cutOffStalled(): void {
    const [next] = this.#waiting
    if (!next || this.taken + next.bytes <= this.#limits.bytes) return
    const since = performance.now() - this.#limits.graceMs
    const stalled = [...this.#places].filter(({ isBuilding, movedAt }) => !isBuilding && movedAt < since)
    stalled.sort((one, other) => one.movedAt - other.movedAt)[0]?.cutOff()
  }
}

const problem = 'As many large answers are on their way as limits.unsentBytes lets; wait for some to be taken'

/** The room of one answer: while it is made, and until it was taken. */
export class Place {
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

  /** Its client is cut off, and the room is free. */
  cutOff(): void {
    this.#cutOff()
    this.release()
  }

  release(): void {
    this.#bytes = 0
    this.#isBuilding = false
    this.#onChange(true)
  }

  /** Nothing is read until something happens. It keeps what it holds meanwhile, and `giveUp` is called when it has done so for long and others need room. */
  keep(bytes: number, giveUp: () => void): void {
    this.#isBuilding = false
    this.#bytes = bytes
    this.#cutOff = giveUp
    this.#onChange(false)
  }

  /** The answer is made. It keeps the room it needs until its client has it. */
  sending(response: Response): Response {
    const bytes = Number(response.headers.get('content-length') ?? this.#bytes)
    if (!response.body || bytes === 0) {
      this.release()
      return response
    }
    this.#isBuilding = false
    this.#bytes = bytes
    this.#movedAt = performance.now()
    this.#onChange(false)
    return new Response(this.#followed(response.body.getReader()), response)
  }

  /** Whoever pipes it takes the next piece when the client has room for it. */
  #followed(reader: ReadableStreamDefaultReader<Uint8Array>): ReadableStream<Uint8Array> {
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

/** Ends the response of a client that does not take it; nobody is told of it but whoever pipes the response. */
export class StalledClientError extends Error {
  override readonly name = 'StalledClientError'
}

class Waiting {
  readonly bytes: number
  readonly promise: Promise<Place>
  readonly resolve: (place: Place) => void
  readonly reject: (reason: unknown) => void

  constructor(bytes: number) {
    this.bytes = bytes
    const { promise, resolve, reject } = Promise.withResolvers<Place>()
    this.promise = promise
    this.resolve = resolve
    this.reject = reject
  }
}

/** Nothing is read before there is room for it, and none is held longer than its client needs. Null, where nothing can be answered yet, needs none. */
export async function inRoom<Answer extends Response | null>(
  { request, server }: Pick<RouteCall, 'request' | 'server'>,
  handle: () => Promise<Answer>,
): Promise<Response | (Answer & null)> {
  const { answerBytes, waitMs } = server.settings.limits
  const place = await server.room.take(answerBytes, { signal: request.signal, waitMs })
  try {
    // Those that came together would be read in one go, where the store answers at once.
    await yieldToEventLoop()
    const answer = await handle()
    if (answer) return place.sending(answer)
    place.release()
    return answer as Answer & null
  } catch (error) {
    place.release()
    throw error
  }
}
