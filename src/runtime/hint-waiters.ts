import type { Clock } from '../clock/clock.ts'
import { conversationKey } from '../store/conversation-key.ts'
import type { ConversationRef } from '../store/conversation-record.ts'

/** What was appended to one log while somebody listens. Must be stopped. */
export type Hints = {
  /** Resolves when something was appended since the last call, or after a while. Rejects when the runtime is closed, or with the signal's reason. */
  next(): Promise<void>
  stop(): void
}

/** Those who wait for a log to grow. Hints may be lost, so nobody waits longer than `pollMs`. */
export class HintWaiters {
  readonly #clock: Clock
  readonly #pollMs: number
  readonly #closed: AbortSignal
  readonly #listening = new Map<string, Set<() => void>>()

  constructor(clock: Clock, pollMs: number, closed: AbortSignal) {
    this.#clock = clock
    this.#pollMs = pollMs
    this.#closed = closed
  }

  hint({ tenant, id }: ConversationRef): void {
    for (const tell of this.#listening.get(conversationKey(tenant, id)) ?? []) tell()
  }

  /** Tells everybody, whatever they wait for. */
  tellAll(): void {
    for (const listeners of this.#listening.values()) for (const tell of listeners) tell()
  }

  /** Listens from now on, so that what comes between a look and the wait after it is not missed. */
  listen({ tenant, id }: ConversationRef, signal?: AbortSignal): Hints {
    const key = conversationKey(tenant, id)
    let isTold = false
    let wake = (): void => {}
    const tell = (): void => {
      isTold = true
      wake()
    }
    const listeners = this.#listening.get(key) ?? new Set()
    this.#listening.set(key, listeners.add(tell))
    signal?.addEventListener('abort', tell)
    return {
      next: async () => {
        this.#closed.throwIfAborted()
        signal?.throwIfAborted()
        if (!isTold) {
          await new Promise<void>((resolve) => {
            const cancel = this.#clock.after(this.#pollMs, resolve)
            wake = () => {
              cancel()
              resolve()
            }
          })
        }
        isTold = false
        this.#closed.throwIfAborted()
        signal?.throwIfAborted()
      },
      stop: () => {
        signal?.removeEventListener('abort', tell)
        listeners.delete(tell)
        if (listeners.size === 0 && this.#listening.get(key) === listeners) this.#listening.delete(key)
      },
    }
  }
}
