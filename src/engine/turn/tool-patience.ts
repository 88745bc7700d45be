import { type Clock, monotonic } from '../../base/clock.ts'
import { conversationKey } from '../../store/conversation-key.ts'
import type { ConversationRef } from '../../store/conversation-record.ts'

const mostRemembered = 10_000

/** How long this process leaves calls to others whose tool its agents lack. Counted from when it first met the call, by a clock that never goes back. */
export class ToolPatience {
  readonly #clock: Clock
  readonly #waitMs: number
  /** Until when, by conversation and call. */
  readonly #until = new Map<string, number>()

  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock
    this.#waitMs = waitMs
  }

  /** Zero once it has been left for long enough. */
  remainingMs({ tenant, id }: ConversationRef, callId: string): number {
    const key = JSON.stringify([conversationKey(tenant, id), callId])
    const now = monotonic(this.#clock)
    const until = this.#until.get(key) ?? now + this.#waitMs
    this.#until.set(key, until)
    if (this.#until.size > mostRemembered) this.#until.delete(this.#until.keys().next().value!)
    return Math.max(0, until - now)
  }
}
