import { exitCodes } from './exit-codes.ts'

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
