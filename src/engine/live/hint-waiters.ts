import { conversationKey } from '../../store/conversation-key.ts'
import type { ConversationRef } from '../../store/conversation-record.ts'
import type { WatchedLog } from '../../store/watched-log.ts'
import type { Watcher } from './log-poll.ts'

/** What was appended to one log while somebody listens. Must be stopped. */
export type Hints = {
  /**
   * Resolves when something was appended since the last call, or when the log is found to be other than it is known. Rejects when the runtime is closed, or with
   * the signal's reason.
   */
  next(known: Known): Promise<void>
  stop(): void
}

type Known = Pick<WatchedLog, 'seq' | 'at' | 'status'>

/** Those who wait for a log to grow. Hints may be lost, so it is polled as well: see `LogPoll`. */
export class HintWaiters {
  readonly #closed: AbortSignal
  readonly #listening = new Map<string, Set<() => void>>()
  readonly #waiting = new Set<Watcher>()

  constructor(closed: AbortSignal) {
    this.#closed = closed
  }

  hint({ tenant, id }: ConversationRef): void {
    for (const tell of this.#listening.get(conversationKey(tenant, id)) ?? []) tell()
  }

  /** Tells everybody, whatever they wait for. */
  tellAll(): void {
    for (const listeners of this.#listening.values()) for (const tell of listeners) tell()
  }

  /** Those who wait now. */
  watchers(): Iterable<Watcher> {
    return this.#waiting
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
      next: async (known) => {
        this.#closed.throwIfAborted()
        signal?.throwIfAborted()
        const watcher = { tenant, id, ...known, look: tell }
        this.#waiting.add(watcher)
        if (!isTold) await new Promise<void>((resolve) => (wake = resolve))
        this.#waiting.delete(watcher)
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
