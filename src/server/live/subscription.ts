import { onAbort, unlessAborted } from '../../base/abort.ts'
import { RuntimeClosedError } from '../../base/errors/runtime-errors.ts'
import { RateLimitedError } from '../../base/errors/server-errors.ts'
import { encode } from '../../log/codec.ts'
import type { LogEvent } from '../../log/events.ts'
import type { FlowSession } from '../../runtime/flow-session.ts'
import { StalledClientError } from '../byte-budget.ts'
import type { RouteCall } from '../route.ts'
import { greeting, heartbeat } from './frame.ts'

const batchBytes = 32 * 1024

/**
 * The frames that one client has not received yet. They are references to frames that all clients share, up to a limit
 * in bytes. A client that falls further behind is disconnected, and reconnects with the id of its last frame.
 */
export class Subscription {
  readonly #maxBytes: number
  readonly #onClose: () => void
  #first: AsyncIterator<Uint8Array> | null
  #queue: Uint8Array[] = []
  #bytes = 0
  #wake: (() => void) | null = null
  #state: 'open' | 'ended' | 'closed' = 'open'
  readonly #whenClosed: (() => void)[] = []
  /** Set by the response: disconnects the client, even during a write. */
  onDrop: () => void = () => {}
  /** Whether a replaced log ends the subscription: it was deleted, or deleted and begun by another user. Connecting again asks `authorize` anew. */
  readonly isJudged: boolean

  /** `first` is sent before any pushed frame. */
  constructor(
    maxBytes: number,
    first: AsyncIterable<Uint8Array> | null,
    onClose: () => void,
    { isJudged = false }: { readonly isJudged?: boolean } = {},
  ) {
    this.isJudged = isJudged
    this.#maxBytes = maxBytes
    this.#first = first ? first[Symbol.asyncIterator]() : null
    this.#onClose = onClose
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  /** Calls back when the client has left, also when it has already. */
  onClosed(callback: () => void): void {
    if (this.isClosed) callback()
    else this.#whenClosed.push(callback)
  }

  /** Frames of one call count as one. */
  push(...frames: readonly Uint8Array[]): void {
    if (this.#state !== 'open') return
    const bytes = frames.reduce((sum, { byteLength }) => sum + byteLength, 0)
    // A single frame may exceed the limit, and must still be sent.
    if (this.#queue.length > 0 && this.#bytes + bytes > this.#maxBytes) {
      this.close()
      this.onDrop()
      return
    }
    this.#queue.push(...frames)
    this.#bytes += bytes
    this.#wake?.()
  }

  /** Skipped when other frames already show that the connection is alive. */
  beat(frame: Uint8Array): void {
    if (this.#queue.length === 0 && this.#first === null) this.push(frame)
  }

  /** Ends the stream after the queued frames. */
  end(): void {
    if (this.#state === 'open') this.#state = 'ended'
    this.#wake?.()
  }

  /** Ends the stream without what the client has not taken yet: it may not be read any more. */
  cut(): void {
    this.#drop()
    this.end()
  }

  /** Ends the stream and drops the queued frames. */
  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#drop()
    this.#wake?.()
    this.#onClose()
    for (const callback of this.#whenClosed) callback()
  }

  /** As many frames as fit in one write. Null at the end. */
  async read(): Promise<Uint8Array | null> {
    while (this.#first) {
      const { done, value } = await this.#first.next()
      // Cut off meanwhile.
      if (!this.#first) break
      if (!done) return value
      this.#first = null
    }
    while (this.#queue.length === 0) {
      if (this.#state !== 'open') return null
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = null
    }
    return this.#take()
  }

  #drop(): void {
    this.#queue = []
    this.#bytes = 0
    const first = this.#first
    this.#first = null
    first?.return?.()?.catch(() => {})
  }

  #take(): Uint8Array {
    let [count, bytes] = [0, 0]
    while (count < this.#queue.length && (count === 0 || bytes + this.#queue[count]!.byteLength <= batchBytes)) {
      bytes += this.#queue[count]!.byteLength
      count += 1
    }
    const taken = this.#queue.splice(0, count)
    this.#bytes -= bytes
    return taken.length === 1 ? taken[0]! : joined(taken, bytes)
  }
}

function joined(frames: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes)
  let offset = 0
  for (const frame of frames) {
    whole.set(frame, offset)
    offset += frame.byteLength
  }
  return whole
}

/** The response of a live stream. It lasts until the client leaves or falls too far behind. */
export function eventStream(subscription: Subscription): Response {
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(greeting)
        // An error closes the connection even while a write waits for the client.
        subscription.onDrop = () => controller.error(new StalledClientError())
      },
      async pull(controller) {
        const chunk = await subscription.read()
        // Dropped or cancelled meanwhile. The controller already knows.
        if (subscription.isClosed) return
        if (chunk) controller.enqueue(chunk)
        else {
          subscription.close()
          controller.close()
        }
      },
      cancel: () => subscription.close(),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: eventStreamHeaders })
}

export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** The events of a session after `after`, for one client. They are read as the client takes them, a page of the log at a time. */
export function sessionStream({ server, request }: RouteCall, session: FlowSession<unknown>, after: number): Response {
  const { feeds, settings } = server
  const { streams, streamBytes, heartbeatMs } = settings.limits
  if (feeds.subscribers >= streams) throw new RateLimitedError(1_000)
  const stop = new AbortController()
  const frames = framesOf(session.watch({ after, signal: stop.signal }), heartbeatMs, stop.signal)
  const subscription = new Subscription(streamBytes, frames, () => {
    stop.abort()
    feeds.streamClosed(subscription)
  })
  if (!feeds.streamOpened(subscription)) throw new RuntimeClosedError()
  subscription.end()
  onAbort(request.signal, () => subscription.close())
  return eventStream(subscription)
}

const encoder = new TextEncoder()

/** A frame for each event, and a heartbeat whenever there was none for a while. */
async function* framesOf(
  events: AsyncGenerator<LogEvent, void, void>,
  heartbeatMs: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  for (let next = events.next(); ; ) {
    const found = await within(next, heartbeatMs, signal)
    if (signal.aborted) return
    if (found === null) {
      yield heartbeat
      continue
    }
    if (found.done) return
    const { seq } = found.value
    yield encoder.encode(`id: ${seq}\ndata: ${encode(found.value)}\n\n`)
    next = events.next()
  }
}

/** Null when it takes longer. Rejects when the signal aborts. */
async function within<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null)
  })
  try {
    return await unlessAborted(Promise.race([work, late]), signal)
  } finally {
    clearTimeout(timer)
  }
}
