import {
  MethodNotAllowedError,
  RateLimitedError,
  RouteNotFoundError,
  UnauthenticatedError,
} from '../../base/errors/server-errors.ts'
import type { JsonObject } from '../../base/json.ts'
import { empty, json } from '../answer.ts'
import { isFromOperator, scopeOf } from '../dispatch.ts'
import { checkOrigin, readBody } from '../guard/read-body.ts'
import { bearerToken, operatorToken } from '../guard/secret.ts'
import { checkBody, object } from '../route.ts'
import type { ServerSettings } from '../server-options.ts'
import { studioResponse } from './studio-files.ts'
import type { StudioSignIn } from './studio-sign-in.ts'

/** How pages sign in to a server that has codes. */
export type StudioDoor = {
  readonly signIn: StudioSignIn
  /** Whether the caller may have a new code: only with the secrets that a code stands for. */
  mayIssue(request: Request): boolean
}

/** What the page asks first: whether the server knows its caller, and what to do if not. */
export type StudioSession = {
  readonly isSignedIn: boolean
  readonly isOperator: boolean
  /** Whether a code signs in here. Otherwise only the sign-in of the application does, or a token. */
  readonly hasCodes: boolean
}

/** Null for requests of other paths. The studio has no powers: it only hands out secrets that act as `localScope` and as an operator. */
export async function answerStudio(
  request: Request,
  settings: ServerSettings,
  door: StudioDoor | null,
): Promise<Response | null> {
  const path = settings.studio ? pathBelow(`${settings.basePath}/studio`, request) : null
  if (path === null) return null
  const handle = path === '/session' || path === '/code' ? signInRoutes[path] : null
  // The files need no origin check: they are the same for everyone, and a link on another page may lead here.
  if (!handle) return studioResponse(request, path)
  checkOrigin(request, settings.allowedOrigins)
  const verdict = await settings.rateLimit?.({ request, scope: null, route: 'studioSignIn' })
  if (verdict && !verdict.allowed) throw new RateLimitedError(verdict.retryAfterMs)
  return handle(request, settings, door)
}

/** Empty for the mount path itself. Null for requests of other paths. */
function pathBelow(mount: string, request: Request): string | null {
  const { pathname } = new URL(request.url)
  return pathname === mount || pathname.startsWith(`${mount}/`) ? pathname.slice(mount.length) : null
}

type Handle = (request: Request, settings: ServerSettings, door: StudioDoor | null) => Promise<Response>

const signInRoutes: Readonly<Record<'/session' | '/code', Handle>> = {
  async '/session'(request, settings, door) {
    if (request.method === 'GET') return json(await sessionOf(request, settings, door))
    if (!door) throw new RouteNotFoundError()
    if (request.method === 'DELETE') {
      door.signIn.end([bearerToken(request), operatorToken(request)])
      return empty()
    }
    if (request.method !== 'POST') throw new MethodNotAllowedError(['GET', 'POST', 'DELETE'])
    const { code } = (await checkBody(codeBody, await readBody(request, settings.limits))) as { readonly code: string }
    return json(door.signIn.exchange(code))
  },
  async '/code'(request, _, door) {
    if (!door) throw new RouteNotFoundError()
    if (request.method !== 'POST') throw new MethodNotAllowedError(['POST'])
    if (!door.mayIssue(request)) throw new UnauthenticatedError()
    return json({ code: door.signIn.issue() })
  },
}

const codeBody: JsonObject = object({ code: { type: 'string', minLength: 1, maxLength: 200 } }, ['code'])

async function sessionOf(request: Request, settings: ServerSettings, door: StudioDoor | null): Promise<StudioSession> {
  const isSignedIn = (await scopeOf(request, settings)) !== null
  const isOperator =
    isSignedIn && settings.upkeep !== null && (await isFromOperator(request, 'studioSession', settings))
  return { isSignedIn, isOperator, hasCodes: door !== null }
}
