import { RemoteError } from '../base/errors/server-errors.ts'

export type Backoff = { readonly firstMs: number; readonly mostMs: number }

/** Doubles with each failure; somewhere in the upper half of that, so that not everybody comes back at once. */
export function backoffMs(error: unknown, failures: number, backoff: Partial<Backoff> = {}): number {
  const { firstMs = 100, mostMs = 5_000 } = backoff
  const asked = error instanceof RemoteError ? (error.retryAfterMs ?? 0) : 0
  const most = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 20))
  return Math.max(asked, most / 2 + Math.random() * (most / 2))
}

/** Resolves early when the signal comes. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done, { once: true })
  })
}
