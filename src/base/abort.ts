import { afterAwaited, type Clock } from './clock.ts'

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

/** The work, or the signal's reason when that comes first: code of others that does not listen to its signal must not hold up a cancel. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
    work.then(
      (value) => {
        signal.removeEventListener('abort', stop)
        resolve(value)
      },
      (error) => {
        signal.removeEventListener('abort', stop)
        reject(error)
      },
    )
  })
}

type LinkedSignal = {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** Must be called in the end: parents live longer, and would keep what listens to them. */
  unlink(): void
}

/** A signal that is aborted with its parent, or on its own. */
export function linkSignal(parent: AbortSignal): LinkedSignal {
  const controller = new AbortController()
  const follow = (): void => controller.abort(parent.reason)
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => parent.removeEventListener('abort', follow),
  }
}
