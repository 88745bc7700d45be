import type { LogDetails, Logger } from './logger.ts'

const everyMs = 60_000

/**
 * For what is tried again and again: the same failure is told at once and then once a minute, with how often it came, so that a log does
 * not fill up while a store is away.
 */
export function sparingly(logger: Logger, now: () => number): Logger['warn'] {
  const told = new Map<string, { text: string; at: number; times: number }>()
  return (message, details) => {
    const text = textOf(details)
    const last = told.get(message)
    if (last?.text === text && now() - last.at < everyMs) {
      last.times += 1
      return
    }
    const times = last?.text === text ? last.times : 1
    told.set(message, { text, at: now(), times: 1 })
    logger.warn(message, times > 1 ? { ...details, times } : details)
  }
}

function textOf(details: LogDetails | undefined): string {
  return details?.error instanceof Error ? details.error.message : String(details?.error)
}
