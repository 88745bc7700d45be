import { OperatorOnlyError, RateLimitedError, RouteNotFoundError } from '../../errors/server-errors.ts'
import type { ServerSettings } from '../server-options.ts'

/** Lets nobody pass but operators. `authenticate` has no say: whoever belongs to a tenant must not reach the others. */
export async function identifyOperator(request: Request, route: string, settings: ServerSettings): Promise<void> {
  if (!settings.upkeep) throw new RouteNotFoundError()
  const isOperator = await asked(request, route, settings)
  // Also asked about strangers, so that guessing can be slowed down.
  const verdict = await settings.rateLimit?.({ request, scope: null, route })
  if (verdict && !verdict.allowed) throw new RateLimitedError(verdict.retryAfterMs)
  if (!isOperator) throw new OperatorOnlyError()
}

async function asked(request: Request, route: string, { upkeep, logger }: ServerSettings): Promise<boolean> {
  try {
    const given: unknown = await upkeep?.isOperator(request)
    return given === true
  } catch (error) {
    logger.error('isOperator threw, and the request was refused', { route, error })
    return false
  }
}
