import { createHash, timingSafeEqual } from 'node:crypto'
import { DefinitionError } from '../../base/errors/definition-errors.ts'

/** The header of an operator token, next to the user's `authorization`. */
export const operatorHeader = 'perdure-operator'

/** The token of `authorization: Bearer ...`, or null. No other place is read. */
export function bearerToken(request: Request): string | null {
  return tokenIn(request.headers.get('authorization'))
}

/** The token of `perdure-operator: Bearer ...`, or null. */
export function operatorToken(request: Request): string | null {
  return tokenIn(request.headers.get(operatorHeader))
}

/** An operator token may also be sent as `authorization` when no user is acting. */
export function operatorOrBearerToken(request: Request): string | null {
  return request.headers.has(operatorHeader) ? operatorToken(request) : bearerToken(request)
}

/** Compares two secrets in constant time. Empty secrets never match. */
export function isSameSecret(given: string, expected: string): boolean {
  const isSame = timingSafeEqual(digest(given), digest(expected))
  return isSame && given !== '' && expected !== ''
}

/**
 * Returns a configured secret. Throws `DefinitionError` when it is missing, empty or blank, so a server does not start
 * with a secret that everyone knows.
 */
export function requireSecret(name: string, value: string | undefined | null): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new DefinitionError(`The secret '${name}'`, ['it is missing or empty; set it to a long random text'])
}

function tokenIn(header: string | null): string | null {
  return /^Bearer +([\x21-\x7e]+)$/i.exec(header ?? '')?.[1] ?? null
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
