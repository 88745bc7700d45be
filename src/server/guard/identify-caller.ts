import {
  OperatorOnlyError,
  RateLimitedError,
  RouteNotFoundError,
  UnauthenticatedError,
} from '../../base/errors/server-errors.ts'
import type { Logger } from '../../base/logger.ts'
import type { Scope } from '../../define/scope.ts'
import type { Route } from '../route.ts'
import type { ServerSettings } from '../server-options.ts'
import { bearerToken, isSameSecret, operatorHeader } from './secret.ts'

/**
 * The caller of a request. Users and operators send their secrets in different headers; neither secret opens what the
 * other does.
 */
export type Caller = {
  /** Null on public routes and on operator routes. */
  readonly scope: Scope | null
  readonly isOperator: boolean
}

/** Runs before the body is read. Throws when the caller may not use the route. */
export async function identifyCaller(request: Request, route: Route, settings: ServerSettings): Promise<Caller> {
  if (route.isPublic) return { scope: null, isOperator: false }
  if (route.isForOperators && !settings.upkeep) throw new RouteNotFoundError()
  const scope = route.isForOperators ? null : await scopeOf(request, settings)
  // A user who is also an operator sends the operator token in a header of its own.
  const isClaimed = route.isForOperators === true || request.headers.has(operatorHeader)
  const isOperator = isClaimed && (await isFromOperator(request, route.name, settings))
  // Asked about unauthenticated requests too, so the limit can slow down guessing.
  const verdict = await settings.rateLimit?.({ request, scope, route: route.name })
  if (verdict && !verdict.allowed) throw new RateLimitedError(verdict.retryAfterMs)
  if (!route.isForOperators && !scope) throw new UnauthenticatedError()
  if (isClaimed && !isOperator) throw new OperatorOnlyError()
  if (route.readsPrompts && !isOperator && !(await mayReadPrompts(scope!, request, route.name, settings)))
    throw new OperatorOnlyError('What models were given is')
  return { scope, isOperator }
}

/** Anything but an object is refused. */
async function scopeOf(request: Request, { authenticate, upkeep }: ServerSettings): Promise<Scope | null> {
  // The operator token never acts as a user, even if `authenticate` would accept it.
  if (isSameSecret(bearerToken(request) ?? '', upkeep?.operatorToken ?? '')) return null
  const given: unknown = await authenticate(request)
  return typeof given === 'object' && given !== null ? (given as Scope) : null
}

/** Does not ask `authenticate`: a user of one tenant must not reach the others. */
async function isFromOperator(request: Request, route: string, { upkeep, logger }: ServerSettings): Promise<boolean> {
  return returnsTrue('isOperator', route, logger, () => upkeep?.isOperator(request))
}

async function mayReadPrompts(
  scope: Scope,
  request: Request,
  route: string,
  { showPrompts, logger }: ServerSettings,
): Promise<boolean> {
  if (typeof showPrompts !== 'function') return showPrompts
  return returnsTrue('showPrompts', route, logger, () => showPrompts(scope, request))
}

/** Anything but `true` refuses the request, and so does a throw. */
async function returnsTrue(name: string, route: string, logger: Logger, ask: () => unknown): Promise<boolean> {
  try {
    return (await ask()) === true
  } catch (error) {
    logger.error(`${name} threw, and the request was refused`, { route, error })
    return false
  }
}
