import { Hono } from 'hono'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import { shown } from '../base/errors/read-options.ts'
import type { Agent } from '../define/agent.ts'
import type { HeldRuntime } from '../runtime/hold-runtime.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { ByteBudget } from './byte-budget.ts'
import { type Answer, dispatch, routeRequests } from './dispatch.ts'
import { answerSigned } from './file-response.ts'
import { checkHost, checkOrigin, checkPath, checkSize, corsHeaders, preflight } from './guard/read-body.ts'
import { Feeds } from './live/feeds.ts'
import { logFailure, problemOf } from './problem.ts'
import type { ServerContext } from './route.ts'
import { allRoutes } from './routes/all-routes.ts'
import { type ServerOptions, type ServerSettings, settingsOf } from './server-options.ts'
import { operatorProblems, serverProblems } from './server-problems.ts'
import { answerStudio, type StudioDoor } from './studio/answer-studio.ts'
import { checkStudioBuilt } from './studio/studio-files.ts'
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

/** A runtime, or what `holdRuntime` returns: then each request is answered by the runtime of the newest code. */
export type ServedRuntime<Agents extends readonly Agent[] = readonly Agent[]> =
  | Pick<Runtime<Agents>, 'as' | 'readiness' | 'signedFiles'>
  | HeldRuntime<Agents>

/**
 * Serves a runtime over HTTP. Throws `DefinitionError` without `authenticate`, because a mounted handler may be
 * reachable by anyone.
 */
export function createHandler<Agents extends readonly Agent[]>(
  runtime: ServedRuntime<Agents>,
  options: ServerOptions,
): Handler {
  return openHandler(runtime, options, null)
}

/** `door`: how pages of the studio sign in, where the server has codes for that. */
export function openHandler<Agents extends readonly Agent[]>(
  runtime: ServedRuntime<Agents>,
  options: ServerOptions,
  door: StudioDoor | null,
): Handler {
  checkServed(runtime)
  const {
    answer,
    answerSigned: signed,
    settings,
    ...parts
  } = 'as' in runtime ? openRoutes(runtime, options) : openHeldRoutes(runtime, options)
  const handle = (request: Request): Promise<Response> =>
    handleRequest(request, { answer, answerSigned: signed, settings, door })
  return Object.assign(handle, parts)
}

/** A module that is still loading has none yet, and a promise of one is none. */
function checkServed(runtime: unknown): void {
  const { as, get } = Object(runtime) as { readonly as?: unknown; readonly get?: unknown }
  if (typeof as === 'function' || typeof get === 'function') return
  throw new DefinitionError('The server', [
    `the first argument must be what createRuntime or holdRuntime returns, not ${shown(runtime)}`,
  ])
}

type OpenRoutes = Pick<Handler, 'close' | 'settled' | 'streams'> & {
  readonly settings: ServerSettings
  /** Rejects with the error itself, and checks neither host nor origin: for requests of this process's own code. */
  readonly answer: Answer
  /** Answers requests for files by their signed addresses. Null for all others. */
  readonly answerSigned: (request: Request) => Promise<Response | null>
}

/** The routes of a runtime, without what guards them from a network. */
export function openRoutes<Agents extends readonly Agent[]>(
  runtime: Pick<Runtime<Agents>, 'as' | 'readiness' | 'signedFiles'>,
  options: ServerOptions,
): OpenRoutes {
  const settings = checkedSettings(options)
  const feeds = new Feeds(settings.limits, settings.logger)
  const maintenanceJobs = new MaintenanceJobs(settings.limits.upkeep)
  const routes = allRoutes.filter(({ isForOperators }) => !isForOperators || settings.upkeep)
  const uiTurns = new UiTurns(settings.basePath, runtime.signedFiles)
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
    answerSigned: (request) => answerSigned(request, settings, runtime.signedFiles),
    close: () => feeds.close(),
    settled: () => maintenanceJobs.settled(),
    streams: () => ({ clients: feeds.subscribers, conversations: feeds.size }),
  }
}

/** The routes of whichever runtime is held. Those of one that was replaced end their live streams. */
function openHeldRoutes<Agents extends readonly Agent[]>(
  held: HeldRuntime<Agents>,
  options: ServerOptions,
): OpenRoutes {
  const settings = checkedSettings(options)
  let open: { readonly runtime: Runtime<Agents>; readonly routes: OpenRoutes } | null = null
  let settled: Promise<unknown> = Promise.resolve()

  async function currentRoutes(): Promise<OpenRoutes> {
    const runtime = await held.get()
    if (open?.runtime === runtime) return open.routes
    open?.routes.close()
    settled = Promise.all([settled, open?.routes.settled()])
    open = { runtime, routes: openRoutes(runtime, options) }
    return open.routes
  }

  return {
    settings,
    answer: async (request) => (await currentRoutes()).answer(request),
    answerSigned: async (request) => (await currentRoutes()).answerSigned(request),
    close: () => open?.routes.close(),
    settled: async () => void (await Promise.all([settled, open?.routes.settled()])),
    streams: () => open?.routes.streams() ?? { clients: 0, conversations: 0 },
  }
}

/** Throws `DefinitionError` naming everything that is wrong. */
function checkedSettings(options: ServerOptions): ServerSettings {
  const { authenticate } = Object(options) as ServerOptions
  const problems = [...serverProblems(options), ...operatorProblems(options)]
  if (!authenticate || problems.length > 0)
    throw new DefinitionError('The server', [...missingAuthenticate(authenticate), ...problems])
  if (options.studio) checkStudioBuilt()
  return settingsOf(options, authenticate)
}

function missingAuthenticate(authenticate: unknown): string[] {
  if (authenticate) return []
  return [
    "'authenticate' is missing; pass (request) => scope, or use serve, which needs none to answer this machine only",
  ]
}

/** Checks and headers that apply to every route. Never rejects. */
async function handleRequest(request: Request, routes: Routes): Promise<Response> {
  const { settings } = routes
  const response = await checked(request, routes).catch((error: unknown) => {
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

type Routes = Pick<OpenRoutes, 'answer' | 'answerSigned' | 'settings'> & { readonly door: StudioDoor | null }

async function checked(request: Request, { answer, answerSigned: signed, settings, door }: Routes): Promise<Response> {
  checkSize(request, settings.limits)
  checkHost(request, settings.allowedHosts)
  checkPath(request)
  // Before the origin is checked: a signature is enough for one file, on any page.
  const file = request.url.includes('signed=') ? await signed(request) : null
  if (file) return file
  const studio = await answerStudio(request, settings, door)
  if (studio) return studio
  checkOrigin(request, settings.allowedOrigins)
  if (request.method === 'OPTIONS') return preflight(request, settings.allowedOrigins)
  return answer(request)
}

const alwaysSent = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
