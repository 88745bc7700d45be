import { RateLimitedError, UnauthenticatedError } from '../../errors/server-errors.ts'
import type { Scope } from '../../scope/register.ts'
import type { ServerSettings } from '../server-options.ts'

/** Who sent the request. Whatever is not an object is nobody, and nobody gets in. */
export async function identifyCaller(request: Request, route: string, settings: ServerSettings): Promise<Scope> {
  const given: unknown = await settings.authenticate(request)
  const scope = typeof given === 'object' && given !== null ? (given as Scope) : null
  // Also asked about strangers, so that guessing can be slowed down.
  const verdict = await settings.rateLimit?.({ request, scope, route })
  if (verdict && !verdict.allowed) throw new RateLimitedError(verdict.retryAfterMs)
  if (!scope) throw new UnauthenticatedError()
  return scope
}
