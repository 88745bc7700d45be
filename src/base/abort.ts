import { afterAwaited, type Clock } from './clock.ts'

export type Settled<T> =
  | { readonly type: 'value'; readonly value: T }
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'aborted' }

/** Waits, one after the other, that end when the signal comes first. One listener serves them all; `stop` takes it away. */
export class AbortableWaits {
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

type PauseOptions = {
  /** Default: the timers of the process. */
  readonly clock?: Clock | undefined
  readonly signal?: AbortSignal | undefined
  /** Lets the process end before the time has passed. Default: the process stays alive. */
  readonly unref?: boolean
}

/** Waits. False when the signal came first. */
export function pause(ms: number, { clock, signal, unref = false }: PauseOptions = {}): Promise<boolean> {
  return new Promise((resolve) => {
    const over = (): void => {
      stopListening()
      resolve(true)
    }
    const callOff = clock ? (unref ? clock.after(ms, over) : afterAwaited(ms, clock, over)) : timeout(ms, over, unref)
    const stopListening = onAbort(signal, () => {
      callOff()
      resolve(false)
    })
  })
}

/** Without a clock, so that it works in a browser as well, whose timers cannot be unreferenced. */
function timeout(ms: number, callback: () => void, unref: boolean): () => void {
  const timer = setTimeout(callback, ms)
  if (unref) timer.unref()
  return () => clearTimeout(timer)
}

/**
 * Calls back once: when the signal is aborted, or at once where it is already. Returns what stops listening; it must be called where the signal lives
 * longer than the work.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal?.aborted) callback()
  else signal?.addEventListener('abort', callback, { once: true })
  return () => signal?.removeEventListener('abort', callback)
}

/** The work, or the signal's reason when that comes first: code of others that does not listen to its signal must not hold up a cancel. */
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
 * What comes of `wait` within `waitMs`; null when it takes longer, or when `gone` is aborted first. Only the waiting ends then: the work goes on. `wait`
 * must reject with the reason of its signal.
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
  /** Must be called in the end: parents live longer, and would keep what listens to them. */
  unlink(): void
}

/** A signal that is aborted with its parent, or on its own. */
export function linkSignal(parent: AbortSignal): LinkedSignal {
  const controller = new AbortController()
  const unlink = onAbort(parent, () => controller.abort(parent.reason))
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink,
  }
}
