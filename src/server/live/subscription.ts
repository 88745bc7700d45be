import { StalledClientError } from '../room.ts'
import { greeting } from './frame.ts'

const batchBytes = 32 * 1024

/**
 * What one client has not been sent yet. It holds references to frames that all clients share, up to a number of bytes; a client that reads
 * more slowly than that is dropped, and comes back with the id of the last frame it got.
 */
export class Subscription {
  readonly #mostBytes: number
  readonly #onClose: () => void
  #first: AsyncIterator<Uint8Array> | null
  #queue: Uint8Array[] = []
  #bytes = 0
  #wake: (() => void) | null = null
  #state: 'open' | 'ended' | 'closed' = 'open'
  /** Set by whoever writes to the client: called when it must be cut off, also in the middle of a write. */
  onDrop: () => void = () => {}

  /** `first` is sent before anything that is pushed. */
  constructor(mostBytes: number, first: AsyncIterable<Uint8Array> | null, onClose: () => void) {
    this.#mostBytes = mostBytes
    this.#first = first ? first[Symbol.asyncIterator]() : null
    this.#onClose = onClose
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  push(frame: Uint8Array): void {
    if (this.#state !== 'open') return
    // A single frame may be larger than the limit: it must get through somehow.
    if (this.#queue.length > 0 && this.#bytes + frame.byteLength > this.#mostBytes) {
      this.close()
      this.onDrop()
      return
    }
    this.#queue.push(frame)
    this.#bytes += frame.byteLength
    this.#wake?.()
  }

  /** Only where nothing else shows that the connection lives. */
  beat(frame: Uint8Array): void {
    if (this.#queue.length === 0 && this.#first === null) this.push(frame)
  }

  /** No more will come; what is there is still sent. */
  end(): void {
    if (this.#state === 'open') this.#state = 'ended'
    this.#wake?.()
  }

  /** Frees everything. */
  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#queue = []
    this.#bytes = 0
    const first = this.#first
    this.#first = null
    first?.return?.()?.catch(() => {})
    this.#wake?.()
    this.#onClose()
  }

  /** As much as may be written at once; null at the end. */
  async read(): Promise<Uint8Array | null> {
    while (this.#first) {
      const { done, value } = await this.#first.next()
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

/** The answer that goes on for as long as the client stays and keeps up. */
export function eventStream(subscription: Subscription): Response {
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(greeting)
        // Whoever pipes this must let go of the connection, also while it waits for a client that does not read.
        subscription.onDrop = () => controller.error(new StalledClientError())
      },
      async pull(controller) {
        const chunk = await subscription.read()
        // Dropped or cancelled meanwhile: the controller knows already.
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
