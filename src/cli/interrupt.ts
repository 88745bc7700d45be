import { exitCodes } from './exit-codes.ts'

/** Somebody ended it with Ctrl-C: nothing is wrong, and nothing is to be told. */
export class Interrupted extends Error {}

let controller: AbortController | null = null

/** Aborted by the first Ctrl-C or SIGTERM; a second ends the process at once. */
export function interruptSignal(): AbortSignal {
  if (controller) return controller.signal
  const asked = new AbortController()
  controller = asked
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (asked.signal.aborted) process.exit(exitCodes.interrupted)
      asked.abort(signal)
    })
  }
  return asked.signal
}
