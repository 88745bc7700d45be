import { checkHost } from './guard/check-host.ts'
import { checkOrigin, corsHeaders, preflight } from './guard/check-origin.ts'
import { checkPath } from './guard/check-path.ts'
import { checkSize } from './guard/check-size.ts'
import { logFailure } from './log-failure.ts'
import { problemOf } from './problem.ts'
import type { Answer } from './route-request.ts'
import type { ServerSettings } from './server-options.ts'

/** What holds for every request, whatever its route. Never rejects. */
export async function handleRequest(
  request: Request,
  answer: Promise<Answer>,
  settings: ServerSettings,
): Promise<Response> {
  const response = await checked(request, answer, settings).catch((error: unknown) => {
    logFailure(error, request, settings)
    return problemOf(error)
  })
  const isListed = settings.allowedOrigins.length > 0
  const cors = isListed ? { vary: 'origin', ...corsHeaders(request, settings.allowedOrigins) } : {}
  for (const [name, value] of Object.entries({ ...alwaysSent, ...cors })) {
    if (!response.headers.has(name)) response.headers.set(name, value)
  }
  return response
}

async function checked(request: Request, answer: Promise<Answer>, settings: ServerSettings): Promise<Response> {
  checkSize(request, settings.limits)
  checkHost(request, settings.allowedHosts)
  checkOrigin(request, settings.allowedOrigins)
  checkPath(request)
  if (request.method === 'OPTIONS') return preflight(request, settings.allowedOrigins)
  return (await answer)(request)
}

const alwaysSent = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
