import { errorCodes } from '../errors/codes.ts'
import { PerdureError } from '../errors/perdure-error.ts'
import type { ServerSettings } from './server-options.ts'

/** Only what whoever runs the server must know of. Never a header, a body or a query: they may hold secrets. */
export function logFailure(error: unknown, request: Request, { logger }: Pick<ServerSettings, 'logger'>): void {
  if (PerdureError.isInstance(error) && errorCodes[error.code]?.status < 500) return
  logger.error('a request failed', { method: request.method, path: new URL(request.url).pathname, error })
}
