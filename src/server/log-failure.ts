import { errorCodes } from '../base/errors/codes.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import type { ServerSettings } from './server-options.ts'

/** Only what whoever runs the server must know of. Never a header, a body or a query: they may hold secrets. */
export function logFailure(error: unknown, request: Request, { logger }: Pick<ServerSettings, 'logger'>): void {
  if (PerdureError.isInstance(error) && errorCodes[error.code]?.status < 500) return
  const details = { method: request.method, path: new URL(request.url).pathname, error }
  // Whoever closes a runtime knows; clients come back once more before they are told.
  if (PerdureError.isInstance(error) && error.code === 'runtime_closed')
    logger.debug('a request came too late', details)
  else logger.error('a request failed', details)
}
