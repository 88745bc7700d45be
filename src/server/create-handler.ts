import { Hono } from 'hono'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import type { Agent } from '../define/agent.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { ByteBudget } from './byte-budget.ts'
import { type Answer, dispatch, routeRequests } from './dispatch.ts'
import { checkHost, checkOrigin, checkPath, checkSize, corsHeaders, preflight } from './guard/read-body.ts'
import { Feeds } from './live/feeds.ts'
import { logFailure, problemOf } from './problem.ts'
import type { ServerContext } from './route.ts'
import { allRoutes } from './routes/all-routes.ts'
import { type ServerOptions, type ServerSettings, settingsOf } from './server-options.ts'
import { operatorProblems, serverProblems } from './server-problems.ts'
import { UiTurns } from './ui/ui-turns.ts'
import { MaintenanceJobs } from './upkeep/stream-lines.ts'

/** Handles web `Request`s from any server. Never rejects. */
export type Handler = ((request: Request) => Promise<Response>) & {
  /** Ends the live streams, which otherwise last as long as their clients stay connected. */
  close(): void
  /** Resolves when no maintenance job uses the store. A job ends with the connection that started it. */
  settled(): Promise<void>
  /** Connected live clients, and conversations kept in memory for them. */
  streams(): { readonly clients: number; readonly conversations: number }
}

/**
 * Serves a runtime over HTTP. Throws `DefinitionError` without `authenticate`, because a mounted handler may be
 * reachable by anyone.
 */
export function createHandler<Agents extends readonly Agent[]>(
  runtime: Pick<Runtime<Agents>, 'as' | 'readiness'>,
  options: ServerOptions,
): Handler {
  const { answer, settings, ...parts } = openRoutes(runtime, options)
  const handle = (request: Request): Promise<Response> => handleRequest(request, answer, settings)
  return Object.assign(handle, parts)
}

type OpenRoutes = Pick<Handler, 'close' | 'settled' | 'streams'> & {
  readonly settings: ServerSettings
  /** Rejects with the error itself, and checks neither host nor origin: for requests of this process's own code. */
  readonly answer: Answer
}

/** The routes of a runtime, without what guards them from a network. */
export function openRoutes<Agents extends readonly Agent[]>(
  runtime: Pick<Runtime<Agents>, 'as' | 'readiness'>,
  options: ServerOptions,
): OpenRoutes {
  const { authenticate } = Object(options) as ServerOptions
  const problems = [...serverProblems(options), ...operatorProblems(options)]
  if (!authenticate || problems.length > 0)
    throw new DefinitionError('The server', [...missingAuthenticate(authenticate), ...problems])
  const settings = settingsOf(options, authenticate)
  const feeds = new Feeds(settings.limits, settings.logger)
  const maintenanceJobs = new MaintenanceJobs(settings.limits.upkeep)
  const routes = allRoutes.filter(({ isForOperators }) => !isForOperators || settings.upkeep)
  const uiTurns = new UiTurns(settings.basePath)
  const byteBudget = new ByteBudget({ bytes: settings.limits.unsentBytes })
  const server: ServerContext = {
    settings,
    feeds,
    maintenanceJobs,
    byteBudget,
    uiTurns,
    routes,
    readiness: () => runtime.readiness(),
  }
  const answer = routeRequests(new Hono(), routes, settings.basePath, (route, params, request) =>
    dispatch(route, params, request, runtime as unknown as Pick<Runtime, 'as'>, server),
  )
  return {
    settings,
    answer,
    close: () => feeds.close(),
    settled: () => maintenanceJobs.settled(),
    streams: () => ({ clients: feeds.subscribers, conversations: feeds.size }),
  }
}

function missingAuthenticate(authenticate: unknown): string[] {
  if (authenticate) return []
  return [
    "'authenticate' is missing; pass (request) => scope, or use serve, which needs none to answer this machine only",
  ]
}

/** Checks and headers that apply to every route. Never rejects. */
async function handleRequest(request: Request, answer: Answer, settings: ServerSettings): Promise<Response> {
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

async function checked(request: Request, answer: Answer, settings: ServerSettings): Promise<Response> {
  checkSize(request, settings.limits)
  checkHost(request, settings.allowedHosts)
  checkOrigin(request, settings.allowedOrigins)
  checkPath(request)
  if (request.method === 'OPTIONS') return preflight(request, settings.allowedOrigins)
  return answer(request)
}

const alwaysSent = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
