import { pause } from '../base/abort.ts'
import { delayAfter, jittered } from '../base/clock.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'

/** How long a request is repeated while the server cannot be reached. */
const giveUpMs = 30_000

const delays = { firstMs: 200, mostMs: 3_000 }

/**
 * Repeats a request whose acknowledgement was lost or that the server could not take, until it is acknowledged. The request must have a key, so that it takes
 * effect once. Rejects with what the server refuses, and with the last error after 30 seconds.
 */
export async function untilAcknowledged<T>(request: () => Promise<T>): Promise<T> {
  const end = Date.now() + giveUpMs
  for (let failures = 1; ; failures += 1) {
    try {
      return await request()
    } catch (error) {
      const canRepeat = PerdureError.isInstance(error) && error.retryable
      const delayMs = jittered(delayAfter(failures, delays))
      if (!canRepeat || Date.now() + delayMs > end) throw error
      await pause(delayMs)
    }
  }
}

/** A key that no other request has. Also where there is no `crypto.randomUUID`, as on pages without https. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
