import type { Clock } from '../clock/clock.ts'

export type Settled<T> =
  | { readonly type: 'value'; readonly value: T }
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'aborted' }

/** Waits for the work or the signal, whichever comes first. Never rejects. Work that is given up on is not waited for. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<Settled<T>> {
  return new Promise((resolve) => {
    const end = (settled: Settled<T>): void => {
      signal.removeEventListener('abort', onAbort)
      resolve(settled)
    }
    const onAbort = (): void => end({ type: 'aborted' })
    work.then(
      (value) => end({ type: 'value', value }),
      (error) => end({ type: 'error', error }),
    )
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
  })
}

const longestTimeoutMs = 2 ** 31 - 1

/** False when the signal came first. */
export function pause(delayMs: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    // A clock does not keep the process alive, and here somebody waits for an answer.
    const hold = setInterval(() => {}, longestTimeoutMs)
    const end = (isOver: boolean): void => {
      clearInterval(hold)
      signal.removeEventListener('abort', onAbort)
      resolve(isOver)
    }
    const callOff = clock.after(delayMs, () => end(true))
    const onAbort = (): void => {
      callOff()
      end(false)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
  })
}
