import type { Logger } from '../base/logger.ts'
import type { Unsubscribe, WakeHint } from './store.ts'

type Listener = (hint: WakeHint) => void

/** Passes hints to listeners; begins to watch other processes when the first one comes. */
export class HintBus {
  readonly #listeners = new Set<Listener>()
  readonly #watchOthers: (emit: Listener) => Unsubscribe
  readonly #logger: Logger
  #unwatch: Unsubscribe | null = null

  constructor(watchOthers: (emit: Listener) => Unsubscribe, logger: Logger) {
    this.#watchOthers = watchOthers
    this.#logger = logger
  }

  listen(listener: Listener): Unsubscribe {
    this.#listeners.add(listener)
    this.#unwatch ??= this.#watchOthers((hint) => this.emit(hint))
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#unwatch?.()
      this.#unwatch = null
    }
  }

  emit(hint: WakeHint): void {
    for (const listener of this.#listeners) this.#tell(listener, hint)
  }

  /** What was written is written: a listener that fails must not make its commit look failed. */
  #tell(listener: Listener, hint: WakeHint): void {
    try {
      listener(hint)
    } catch (error) {
      this.#logger.error('a listener for wake hints threw', { error })
    }
  }

  close(): void {
    this.#listeners.clear()
    this.#unwatch?.()
    this.#unwatch = null
  }
}
