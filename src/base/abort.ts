import { afterAwaited, type Clock } from './clock.ts'

export type Settled<T> =
  | { readonly type: 'value'; readonly value: T }
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'aborted' }

/** Consecutive waits that end when the signal aborts. One listener serves them all; `stop` removes it. */
export class AbortableWaits {
  readonly #signal: AbortSignal
  #giveUp: (() => void) | null = null

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }

  /** Never rejects. Does not wait for work that was aborted. */
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

type PauseOptions = {
  /** Default: the process's timers. */
  readonly clock?: Clock | undefined
  readonly signal?: AbortSignal | undefined
  /** Lets the process exit before the time has passed. Default: false. */
  readonly unref?: boolean
}

/** Waits. Resolves with false when the signal aborts first. */
export function pause(ms: number, { clock, signal, unref = false }: PauseOptions = {}): Promise<boolean> {
  return new Promise((resolve) => {
    const over = (): void => {
      stopListening()
      resolve(true)
    }
    const cancel = clock ? (unref ? clock.after(ms, over) : afterAwaited(ms, clock, over)) : timeout(ms, over, unref)
    const stopListening = onAbort(signal, () => {
      cancel()
      resolve(false)
    })
  })
}

/** Needs no clock, so it also works in a browser, where timers have no `unref`. */
function timeout(ms: number, callback: () => void, unref: boolean): () => void {
  const timer = setTimeout(callback, ms)
  if (unref) timer.unref()
  return () => clearTimeout(timer)
}

/**
 * Calls back once when the signal aborts, or at once if it already has. Returns a function that stops listening. Must
 * be called if the signal outlives the work.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal?.aborted) callback()
  else signal?.addEventListener('abort', callback, { once: true })
  return () => signal?.removeEventListener('abort', callback)
}

/**
 * The result of `work`, or a rejection with the signal's reason if it aborts first. Application code that ignores its
 * signal must not delay a cancel.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => reject(signal.reason))
    work.then(
      (value) => {
        stopListening()
        resolve(value)
      },
      (error) => {
        stopListening()
        reject(error)
      },
    )
  })
}

/**
 * The result of `wait`, or null when it takes longer than `waitMs` or `gone` aborts. Only the waiting ends then: the
 * work itself continues. `wait` must reject with the reason of its signal.
 */
export async function withDeadline<T>(
  wait: (signal: AbortSignal) => Promise<T>,
  waitMs: number,
  gone?: AbortSignal,
): Promise<T | null> {
  const timeUp = AbortSignal.timeout(waitMs)
  const signal = gone ? AbortSignal.any([timeUp, gone]) : timeUp
  try {
    return await wait(signal)
  } catch (error) {
    if (signal.aborted && error === signal.reason) return null
    throw error
  }
}

type LinkedSignal = {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** Must be called: a parent that lives longer would keep its listener. */
  unlink(): void
}

/** A signal that aborts with its parent, or on its own. */
export function linkSignal(parent: AbortSignal): LinkedSignal {
  const controller = new AbortController()
  const unlink = onAbort(parent, () => controller.abort(parent.reason))
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink,
  }
}
