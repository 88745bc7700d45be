import type { Clock } from '../clock/clock.ts'
import type { ConversationRef } from '../store/conversation-record.ts'

/** Those who wait for a log to grow. Hints may be lost, so nobody waits longer than `pollMs`. */
export class HintWaiters {
  readonly #clock: Clock
  readonly #pollMs: number
  readonly #closed: AbortSignal
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(clock: Clock, pollMs: number, closed: AbortSignal) {
    this.#clock = clock
    this.#pollMs = pollMs
    this.#closed = closed
  }

  hint({ tenant, id }: ConversationRef): void {
    for (const wake of this.#waiting.get(JSON.stringify([tenant, id])) ?? []) wake()
  }

  async next({ tenant, id }: ConversationRef): Promise<void> {
    this.#closed.throwIfAborted()
    const key = JSON.stringify([tenant, id])
    const waiting = this.#waiting.get(key) ?? new Set()
    this.#waiting.set(key, waiting)
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(this.#pollMs, resolve)
      const wake = (): void => {
        cancel()
        resolve()
      }
      waiting.add(wake)
    })
    waiting.clear()
    this.#waiting.delete(key)
    this.#closed.throwIfAborted()
  }
}
