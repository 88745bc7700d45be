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

/** Who sent a request. The two are told apart by where they stand in it: neither secret opens what the other does. */
export type Caller = {
  /** Null where nobody acts: on public routes, and on those for operators alone. */
  readonly scope: Scope | null
  readonly isOperator: boolean
}

/** Before anything of the body is read. Throws where whoever it is may not use the route. */
export async function identifyCaller(request: Request, route: Route, settings: ServerSettings): Promise<Caller> {
  if (route.isPublic) return { scope: null, isOperator: false }
  if (route.isForOperators && !settings.upkeep) throw new RouteNotFoundError()
  const scope = route.isForOperators ? null : await scopeOf(request, settings)
  // A user who brings an operator's credentials as well says so with a header of its own.
  const isClaimed = route.isForOperators === true || request.headers.has(operatorHeader)
  const isOperator = isClaimed && (await isFromOperator(request, route.name, settings))
  // Also asked about strangers, so that guessing can be slowed down.
  const verdict = await settings.rateLimit?.({ request, scope, route: route.name })
  if (verdict && !verdict.allowed) throw new RateLimitedError(verdict.retryAfterMs)
  if (!route.isForOperators && !scope) throw new UnauthenticatedError()
  if (isClaimed && !isOperator) throw new OperatorOnlyError()
  if (route.readsPrompts && !isOperator && !(await mayReadPrompts(scope!, request, route.name, settings)))
    throw new OperatorOnlyError('What models were given is')
  return { scope, isOperator }
}

/** Whatever is not an object is nobody, and nobody gets in. */
async function scopeOf(request: Request, { authenticate, upkeep }: ServerSettings): Promise<Scope | null> {
  // An operator's token where a user's stands acts as nobody, whatever `authenticate` makes of tokens.
  if (isSameSecret(bearerToken(request) ?? '', upkeep?.operatorToken ?? '')) return null
  const given: unknown = await authenticate(request)
  return typeof given === 'object' && given !== null ? (given as Scope) : null
}

/** `authenticate` has no say: whoever belongs to a tenant must not reach the others. */
async function isFromOperator(request: Request, route: string, { upkeep, logger }: ServerSettings): Promise<boolean> {
  return saysTrue('isOperator', route, logger, () => upkeep?.isOperator(request))
}

async function mayReadPrompts(
  scope: Scope,
  request: Request,
  route: string,
  { showPrompts, logger }: ServerSettings,
): Promise<boolean> {
  if (typeof showPrompts !== 'function') return showPrompts
  return saysTrue('showPrompts', route, logger, () => showPrompts(scope, request))
}

/** Anything but `true` refuses, and so does a throw. */
async function saysTrue(name: string, route: string, logger: Logger, ask: () => unknown): Promise<boolean> {
  try {
    return (await ask()) === true
  } catch (error) {
    logger.error(`${name} threw, and the request was refused`, { route, error })
    return false
  }
}
