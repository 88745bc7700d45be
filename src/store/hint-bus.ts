import type { Unsubscribe, WakeHint } from './store.ts'

type Listener = (hint: WakeHint) => void

/** Passes hints to listeners; begins to watch other processes when the first one comes. */
export class HintBus {
  readonly #listeners = new Set<Listener>()
  readonly #watchOthers: (emit: Listener) => Unsubscribe
  #unwatch: Unsubscribe | null = null

  constructor(watchOthers: (emit: Listener) => Unsubscribe) {
    this.#watchOthers = watchOthers
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
    for (const listener of this.#listeners) listener(hint)
  }

  close(): void {
    this.#listeners.clear()
    this.#unwatch?.()
    this.#unwatch = null
  }
}
