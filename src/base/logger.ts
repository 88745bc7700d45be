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
