import type { Json } from './json.ts'

/** Where Perdure tells what went wrong without a caller to tell it to. Must not throw. */
export type Logger = {
  debug(message: string, details?: LogDetails): void
  info(message: string, details?: LogDetails): void
  warn(message: string, details?: LogDetails): void
  error(message: string, details?: LogDetails): void
}

/** What a line of the log is about. */
export type LogDetails = { readonly error?: unknown } & { readonly [key: string]: Json | unknown }

/** Warnings and errors to the console, nothing else. */
export const consoleLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, details) => console.warn(`perdure: ${message}`, details ?? ''),
  error: (message, details) => console.error(`perdure: ${message}`, details ?? ''),
}

/** Says nothing. */
export const silentLogger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const everyMs = 60_000

/** Of one message, so many different failures are told a minute: the text of some has ids in it. */
const mostTexts = 5

type Told = { at: number; times: number }

/**
 * For what is tried again and again: the same failure is told at once and then once a minute, with how often it came, so that a log does
 * not fill up while a store is away.
 */
export function rateLimited(logger: Logger, now: () => number, level: 'warn' | 'error' = 'warn'): Logger['warn'] {
  const messages = new Map<string, Map<string, Told>>()
  return (message, details) => {
    const texts = messages.get(message) ?? new Map<string, Told>()
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
    if (texts.size >= mostTexts) {
      const [oldest, { at: oldestAt }] = texts.entries().next().value!
      // What is not told of one is told with the next that is.
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

function textOf(details: LogDetails | undefined): string {
  return details?.error instanceof Error ? details.error.message : String(details?.error)
}
