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
      // Work that was done in the same moment does not undo an abort.
      (value) => end(signal.aborted ? { type: 'aborted' } : { type: 'value', value }),
      (error) => end(signal.aborted ? { type: 'aborted' } : { type: 'error', error }),
    )
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
  })
}

/** False when the signal came first. */
export function pause(delayMs: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isOver: boolean): void => {
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
