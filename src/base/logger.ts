import type { Json } from './json.ts'

/** Receives what has no caller to be reported to. Must not throw. */
export type Logger = {
  debug(message: string, details?: LogDetails): void
  info(message: string, details?: LogDetails): void
  warn(message: string, details?: LogDetails): void
  error(message: string, details?: LogDetails): void
}

/** Details of a log line. */
export type LogDetails = { readonly error?: unknown } & { readonly [key: string]: Json | unknown }

/** Writes warnings and errors to the console. */
export const consoleLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, details) => console.warn(`perdure: ${message}`, details ?? ''),
  error: (message, details) => console.error(`perdure: ${message}`, details ?? ''),
}

/** Writes nothing. */
export const silentLogger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const everyMs = 60_000

/** How many different failures of one message are logged per minute. Some failure texts contain ids. */
const maxTexts = 5
/** How much of a text tells it from others. */
const mostCharacters = 1_000

type Logged = { at: number; times: number }

/**
 * For requests that are retried: logs a failure at once, then once a minute with the number of repetitions, so that the
 * log does not fill up while a store is down.
 */
export function rateLimited(logger: Logger, now: () => number, level: 'warn' | 'error' = 'warn'): Logger['warn'] {
  const messages = new Map<string, Map<string, Logged>>()
  return (message, details) => {
    const texts = messages.get(message) ?? new Map<string, Logged>()
    messages.set(message, texts)
    const at = now()
    const text = textOf(details)
    const told = texts.get(text)
    if (told && at - told.at < everyMs) {
      told.times += 1
      return
    }
    const times = told?.times ?? 1
    texts.delete(text)
    if (texts.size >= maxTexts) {
      const [oldest, { at: oldestAt }] = texts.entries().next().value!
      // Its repetitions are added to the next line.
      if (at - oldestAt < everyMs) {
        texts.get(oldest)!.times += 1
        return
      }
      texts.delete(oldest)
    }
    texts.set(text, { at, times: 1 })
    logger[level](message, times > 1 ? { ...details, times } : details)
  }
}

/** Must not throw, whatever was thrown: an object without a prototype has no text, and a getter may throw. */
function textOf(details: LogDetails | undefined): string {
  try {
    const error = details?.error
    return String(error instanceof Error ? error.message : error).slice(0, mostCharacters)
  } catch {
    return 'something that cannot be shown'
  }
}
