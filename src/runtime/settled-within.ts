import type { Clock } from '../clock/clock.ts'

/** Resolves when all have settled, or after `ms`. */
export async function settledWithin(ms: number, promises: readonly Promise<unknown>[], clock: Clock): Promise<void> {
  let cancel = (): void => {}
  const timeout = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve)
  })
  await Promise.race([Promise.allSettled(promises), timeout])
  cancel()
}
