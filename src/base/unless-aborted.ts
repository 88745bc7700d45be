import type { Clock } from './clock.ts'
import { afterAwaited } from './with-timeout.ts'

export type Settled<T> =
  | { readonly type: 'value'; readonly value: T }
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'aborted' }

/** Waits, one after the other, that end when the signal comes first. One listener serves them all; `stop` takes it away. */
export class UnlessAborted {
  readonly #signal: AbortSignal
  #giveUp: (() => void) | null = null

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }

  /** Never rejects. Work that is given up on is not waited for. */
  wait<T>(begin: () => PromiseLike<T> | T): Promise<Settled<T>> {
    return new Promise((resolve) => {
      this.#giveUp = () => resolve({ type: 'aborted' })
      const failed = (error: unknown): void => resolve({ type: 'error', error })
      try {
        Promise.resolve(begin()).then((value) => resolve({ type: 'value', value }), failed)
      } catch (error) {
        failed(error)
      }
      if (this.#signal.aborted) this.#onAbort()
    })
  }

  stop(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = (): void => this.#giveUp?.()
}

/** False when the signal came first. */
export function pause(delayMs: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isOver: boolean): void => {
      signal.removeEventListener('abort', onAbort)
      resolve(isOver)
    }
    const callOff = afterAwaited(delayMs, clock, () => end(true))
    const onAbort = (): void => {
      callOff()
      end(false)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
  })
}
