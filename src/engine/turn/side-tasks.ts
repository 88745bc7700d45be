import type { Logger } from '../../base/logger.ts'
import type { ConversationRef } from '../../store/records.ts'
import type { KeepAlive } from '../held-lease.ts'

/** Work that no turn waits for, as titles and summaries. The process does not end before it has. */
export class SideTasks {
  readonly #logger: Logger
  readonly #keepAlive: KeepAlive
  readonly #running = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor({ logger, keepAlive }: { readonly logger: Logger; readonly keepAlive: KeepAlive }) {
    this.#logger = logger
    this.#keepAlive = keepAlive
  }

  get running(): readonly Promise<void>[] {
    return [...this.#running]
  }

  start(onFailure: string, { tenant, id }: ConversationRef, work: (signal: AbortSignal) => Promise<void>): void {
    const letProcessEnd = this.#keepAlive.hold()
    const task = work(this.#closing.signal)
      .catch((error) => this.#logger.warn(onFailure, { tenant, id, error }))
      .finally(() => {
        this.#running.delete(task)
        letProcessEnd()
      })
    this.#running.add(task)
  }

  /** Tells them to stop, and waits until they have. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
  }
}
