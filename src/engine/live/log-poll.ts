import type { Clock } from '../../base/clock.ts'
import { PerdureError } from '../../base/errors/perdure-error.ts'
import type { Logger } from '../../base/logger.ts'
import { sparingly } from '../../base/sparingly.ts'
import { conversationKey } from '../../store/conversation-key.ts'
import type { Store } from '../../store/store.ts'
import { logsPerStatement, type WatchedLog } from '../../store/watched-log.ts'

/** Somebody here who wants to hear of a log. */
export type Watcher = WatchedLog & {
  /** Called where the log is not as it was known. What it returns is waited for; it must not reject. */
  look(): unknown
}

type Parts = {
  readonly store: Pick<Store, 'movedLogs'>
  readonly clock: Clock
  readonly logger: Logger
  readonly pollMs: number
}

/** However much is watched, so many statements a second at most: where they do not suffice, polling becomes rarer. */
const statementsPerSecond = 20
/** How many logs that have moved are read at once. */
const lanes = 16

/**
 * Looks after logs that are watched here, in case a hint about one was lost: one statement asks about very many of them, and only those that have moved are
 * read. Without hints a change is noticed within `pollMs`, and another 50 ms for each 1,000 logs beyond what that allows.
 */
export class LogPoll {
  readonly #parts: Parts
  readonly #watchers: () => Iterable<Watcher>
  readonly #warn: Logger['warn']
  #isStopped = false
  #callOff = (): void => {}

  constructor(parts: Parts, watchers: () => Iterable<Watcher>) {
    this.#parts = parts
    this.#watchers = watchers
    this.#warn = sparingly(parts.logger, () => parts.clock.now())
  }

  start(): void {
    this.#callOff = this.#parts.clock.after(this.#parts.pollMs, () => void this.#poll())
  }

  stop(): void {
    this.#isStopped = true
    this.#callOff()
  }

  async #poll(): Promise<void> {
    const watchers = [...this.#watchers()]
    try {
      if (watchers.length > 0) await this.#lookAtMoved(watchers)
    } catch (error) {
      // Nothing can be read any more, and all who wait must hear it.
      if (PerdureError.isInstance(error) && error.code === 'store_closed') return this.#lookAt(watchers)
      this.#warn('logs that are watched could not be polled; trying again', { error })
    }
    if (this.#isStopped) return
    this.#callOff = this.#parts.clock.after(this.#pauseMs(watchers.length), () => void this.#poll())
  }

  #pauseMs(watched: number): number {
    const statements = Math.ceil(watched / logsPerStatement)
    return Math.max(this.#parts.pollMs, (statements * 1_000) / statementsPerSecond)
  }

  async #lookAtMoved(watchers: readonly Watcher[]): Promise<void> {
    const moved = await this.#parts.store.movedLogs(watchers.map(asKnown))
    const keys = new Set(moved.map(({ tenant, id }) => conversationKey(tenant, id)))
    await this.#lookAt(watchers.filter(({ tenant, id }) => keys.has(conversationKey(tenant, id))))
  }

  async #lookAt(watchers: readonly Watcher[]): Promise<void> {
    const queue = [...watchers]
    const lane = async (): Promise<void> => {
      for (let watcher = queue.shift(); watcher && !this.#isStopped; watcher = queue.shift()) await watcher.look()
    }
    await Promise.all(Array.from({ length: lanes }, lane))
  }
}

function asKnown({ tenant, id, seq, at, status }: WatchedLog): WatchedLog {
  return { tenant, id, seq, at, status }
}
