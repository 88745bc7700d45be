import type { Clock } from './clock.ts'

/** The longest interval of a timer: it is there for keeping the process, not for firing. */
const holdMs = 2 ** 31 - 1

/**
 * `clock.after` for a time that is awaited: the process stays alive until it has passed, or was called off. A clock does not keep the process, and one
 * that ends while a promise is awaited ends with code 13.
 */
export function afterAwaited(delayMs: number, clock: Clock, callback: () => void): () => void {
  const hold = setInterval(() => {}, holdMs)
  const callOff = clock.after(delayMs, () => {
    clearInterval(hold)
    callback()
  })
  return () => {
    clearInterval(hold)
    callOff()
  }
}

/** What comes of `work`; what `late` returns or throws, when that takes longer than `timeoutMs`. The process stays alive until then. */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number, clock: Clock, late: () => T): Promise<T> {
  let callOff = (): void => {}
  const tooLate = new Promise<void>((resolve) => {
    callOff = afterAwaited(timeoutMs, clock, resolve)
  })
  try {
    return await Promise.race([work, tooLate.then(late)])
  } finally {
    callOff()
  }
}
