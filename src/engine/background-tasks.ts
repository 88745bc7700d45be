import type { Logger } from '../base/logger.ts'
import type { ConversationRef } from '../store/records.ts'

/** Work that no turn waits for, such as titles and summaries. The process does not end before it has. */
export class BackgroundTasks {
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

/** Keeps the process from ending while work is under way. All other timers let the process end. */
export class KeepAlive {
  #holders = 0
  #timer: NodeJS.Timeout | null = null
  #isEnded = false

  /** From now on the end of the process may cut off running tasks. */
  end(): void {
    this.#isEnded = true
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
  }

  hold(): () => void {
    this.#holders += 1
    if (!this.#isEnded) this.#timer ??= setInterval(() => {}, 60_000)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#holders -= 1
      if (this.#holders > 0 || !this.#timer) return
      clearInterval(this.#timer)
      this.#timer = null
    }
  }
}
