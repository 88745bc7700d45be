import { OriginNotAllowedError } from '../../base/errors/server-errors.ts'
import { hostOf } from './check-host.ts'

/** Pages of other origins may not call, unless they are listed. Call it after the host was checked. */
export function checkOrigin(request: Request, allowed: readonly string[]): void {
  const origin = request.headers.get('origin')
  if (origin !== null) {
    if (!allowed.includes(origin) && !isOwn(origin, request)) throw new OriginNotAllowedError()
    return
  }
  // Requests that carry no origin, such as those of images, still say that they come from elsewhere.
  if (request.headers.get('sec-fetch-site') === 'cross-site') throw new OriginNotAllowedError()
}

function isOwn(origin: string, request: Request): boolean {
  if (!URL.canParse(origin)) return false
  const { host, protocol } = new URL(origin)
  return (protocol === 'http:' || protocol === 'https:') && host === hostOf(request).toLowerCase()
}

/** For pages that are listed: what lets their browser hand them the answer. */
export function corsHeaders(request: Request, allowed: readonly string[]): Record<string, string> {
  const origin = request.headers.get('origin')
  if (origin === null || !allowed.includes(origin)) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'retry-after',
    vary: 'origin',
  }
}

export function preflight(request: Request, allowed: readonly string[]): Response {
  const headers = corsHeaders(request, allowed)
  if (!('access-control-allow-origin' in headers)) throw new OriginNotAllowedError()
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id',
      'access-control-max-age': '600',
    },
  })
}
