import { createHash, timingSafeEqual } from 'node:crypto'
import { DefinitionError } from '../../base/errors/definition-errors.ts'

/** Where an operator's token stands, beside the `authorization` of the user who acts. */
export const operatorHeader = 'perdure-operator'

/** The token of `authorization: Bearer ...`; null when there is none. Tokens are read from nowhere else. */
export function bearerToken(request: Request): string | null {
  return tokenIn(request.headers.get('authorization'))
}

/** The token of `perdure-operator: Bearer ...`; null when there is none. */
export function operatorToken(request: Request): string | null {
  return tokenIn(request.headers.get(operatorHeader))
}

/** Of an operator: where nobody acts beside, it may stand where a user's does. */
export function operatorOrBearerToken(request: Request): string | null {
  return request.headers.has(operatorHeader) ? operatorToken(request) : bearerToken(request)
}

/** Whether two secrets are the same. Takes as long whatever differs, so that one cannot be guessed piece by piece. An empty one is the same as none. */
export function isSameSecret(given: string, expected: string): boolean {
  const isSame = timingSafeEqual(digest(given), digest(expected))
  return isSame && given !== '' && expected !== ''
}

/** A configured secret as it is. Throws `DefinitionError` where it is missing, empty or blank, so that a server does not start with one that anybody has. */
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
