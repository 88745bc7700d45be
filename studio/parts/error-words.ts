import { PerdureError } from 'perdure/client'
import { oneLine } from './shown-text.ts'

const own: Readonly<Record<string, string>> = {
  server_unreachable: 'The server cannot be reached.',
  unauthenticated: 'You are signed out. Sign in again.',
  rate_limited: 'Too many requests. Try again in a moment.',
}

/** What a person reads of an error: what happened, and its code where there is one. */
export function errorWords(error: unknown): string {
  if (PerdureError.isInstance(error)) return own[error.code] ?? `${oneLine(error.message, 400)} (${error.code})`
  return error instanceof Error ? oneLine(error.message, 400) : 'Something failed in this page. Reload it.'
}

export function codeOf(error: unknown): string | null {
  return PerdureError.isInstance(error) ? error.code : null
}
