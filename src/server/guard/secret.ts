import { createHash, timingSafeEqual } from 'node:crypto'

/** The token of `authorization: Bearer ...`; null when there is none. Tokens are read from nowhere else. */
export function bearerToken(request: Request): string | null {
  const match = /^Bearer +([\x21-\x7e]+)$/i.exec(request.headers.get('authorization') ?? '')
  return match?.[1] ?? null
}

/** Whether two secrets are the same. Takes as long whatever differs, so that one cannot be guessed piece by piece. */
export function isSameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
