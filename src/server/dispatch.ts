import type { Hono } from 'hono'
import { StateRefusedError } from '../base/errors/definition-errors.ts'
import {
  MethodNotAllowedError,
  OperatorOnlyError,
  RateLimitedError,
  RouteNotFoundError,
  UnauthenticatedError,
} from '../base/errors/server-errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Scope } from '../define/scope.ts'
import type { LogEvent } from '../log/events.ts'
import type { Answered, CallRef } from '../runtime/answer-call.ts'
import type { Conversation, TurnHandle } from '../runtime/conversation.ts'
import type { Extended } from '../runtime/extend-deadline.ts'
import type { FlowSession } from '../runtime/flow-session.ts'
import { passPermission } from '../runtime/permit.ts'
import type { Inspection } from '../runtime/read/inspect.ts'
import { eventBefore } from '../runtime/read/turn-events.ts'
import type { Runtime, Verbs } from '../runtime/runtime.ts'
import {
  type Disclosure,
  discloseEvent,
  discloseEvents,
  discloseFlowOutcome,
  discloseMessages,
  discloseOutcome,
  discloseResolution,
  discloseSaid,
  discloseSnapshot,
  discloseStanding,
  discloseTurn,
  discloseView,
  discloseWatched,
  everything,
} from '../view/disclose.ts'
import { withinByteBudget } from './byte-budget.ts'
import { checkMediaType, readBody } from './guard/read-body.ts'
import { bearerToken, isSameSecret, operatorHeader } from './guard/secret.ts'
import { checkBody, emptyQuery, type Route, type RouteCall, readQuery, type ServerContext } from './route.ts'
import type { ServerSettings } from './server-options.ts'

/** Runs one request through its route: identify the caller, read the query and body, call the handler. */
export async function dispatch(
  route: Route,
  params: Readonly<Record<string, string>>,
  request: Request,
  runtime: Pick<Runtime, 'as'>,
  server: ServerContext,
): Promise<Response> {
  const { settings } = server
  const { scope, isOperator } = await identifyCaller(request, route, settings)
  const disclosure: Disclosure = isOperator ? everything : { errors: settings.showErrors, withheld: false }
  const verbs = scope === null ? noVerbs : disclosedVerbs(runtime.as(scope), disclosure)
  const query = await readQuery(route.query ?? emptyQuery, new URL(request.url))
  if (route.takesLines) checkMediaType(request, 'application/x-ndjson')
  const body = route.body ? await checkBody(route.body, await readBody(request, settings.limits)) : null
  const call: RouteCall = { verbs, disclosure, params, query, body, request, server }
  return isLarge(route) ? withinByteBudget(call, () => route.handle(call)) : route.handle(call)
}

/** GET responses may be large unless the route says otherwise. Streams have limits of their own. */
function isLarge({ method, isPublic, isForOperators, waits, answer }: Route): boolean {
  const isStreamed = answer.type === 'text/event-stream'
  return method === 'GET' && !isPublic && !isForOperators && !waits && !isStreamed
}

/** Stands in for the verbs on public and operator routes: those have no scope, so any use is a bug in the route. */
const noVerbs = new Proxy({} as Verbs, {
  get() {
    throw new Error('this route has no scope to act with')
  },
})

export type Answer = (request: Request) => Promise<Response>

type Handle = (route: Route, params: Readonly<Record<string, string>>, request: Request) => Promise<Response>

/** Maps requests to routes. Errors pass through to the caller. */
export function routeRequests(app: Hono, routes: readonly Route[], basePath: string, handle: Handle): Answer {
  for (const route of routes) {
    app.on(route.method, basePath + route.path, (context) => handle(route, context.req.param(), context.req.raw))
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path).map((route) => route.method)
    app.all(basePath + path, () => {
      throw new MethodNotAllowedError(methods)
    })
  }
  app.notFound(() => {
    throw new RouteNotFoundError()
  })
  app.onError((error) => {
    throw error
  })
  return async (request) => app.fetch(request)
}

/**
 * The only verbs that routes get: everything they return has passed `view/disclose.ts`. Each member is listed, so a new
 * verb does not compile until its disclosure is decided.
 */
function disclosedVerbs(verbs: Verbs, disclosure: Disclosure): Verbs {
  return {
    agents: verbs.agents,
    conversation: ((id: string, options?: { agent: string }) =>
      conversationOf(
        options ? verbs.conversation(id, options) : verbs.conversation(id),
        disclosure,
      )) as Verbs['conversation'],
    flow: ((flow: string, id: string) => sessionOf(verbs.flow(flow, id), disclosure)) as Verbs['flow'],
    resolve: async (id, call, value, options) =>
      answered(await verbs.resolve(id, call, value, options), call, disclosure),
    // Records and pending calls contain no error text: `listEntry` shows only the code of a problem.
    conversations: (filter) => verbs.conversations(filter),
    sessions: (filter) => verbs.sessions(filter),
    flows: () => verbs.flows(),
    totals: (filter) => verbs.totals(filter),
    // Rows, as in lists.
    changes: () => verbs.changes(),
    inbox: (page) => verbs.inbox(page),
    unquarantine: (id) => verbs.unquarantine(id),
    inspect: (id) => inspectionOf(verbs.inspect(id), disclosure),
  }
}

function conversationOf(handle: Conversation, disclosure: Disclosure): Conversation {
  const turnOf = (turn: TurnHandle): TurnHandle => ({
    turnId: turn.turnId,
    outcome: async () => discloseOutcome(await turn.outcome(), disclosure),
    get textStream() {
      return turn.textStream
    },
  })
  const disclosed: Conversation = {
    id: handle.id,
    send: (async (message, options) => turnOf(await handle.send(message, options))) as Conversation['send'],
    retry: async (turnId, options) => turnOf(await handle.retry(turnId, options)),
    outcome: async () => discloseOutcome(await handle.outcome(), disclosure),
    turn: (turnId) => turnOf(handle.turn(turnId)),
    async cancel(options) {
      const outcome = await handle.cancel(options)
      return outcome && discloseOutcome(outcome, disclosure)
    },
    approve: async (call, options) => answered(await handle.approve(call, options), call, disclosure),
    deny: async (call, options) => answered(await handle.deny(call, options), call, disclosure),
    answer: async (call, value, options) => answered(await handle.answer(call, value, options), call, disclosure),
    extendDeadline: async (call, options) => answered(await handle.extendDeadline(call, options), call, disclosure),
    note: (name, data) => handle.note(name, data),
    view: async (options) => discloseView(await handle.view(options), disclosure),
    // Pages get the exposed keys, with the view, and never write.
    state: async () => (await handle.view()).state ?? {},
    setState: async () => {
      throw new StateRefusedError('a server does not change it for its callers')
    },
    async history(page) {
      const { messages, ...rest } = await handle.history(page)
      return { ...rest, messages: discloseMessages(messages, disclosure) }
    },
    async events(range) {
      const events = await handle.events(range)
      const before = disclosure.withheld ? null : await eventBefore(handle.events, events[0])
      return discloseEvents(events, disclosure, before)
    },
    async *watch(options) {
      for await (const event of handle.watch(options)) yield discloseWatched(event, disclosure)
    },
    // Model calls need no filter: `readsPrompts` routes refuse callers who may not read prompts.
    modelCalls: (range) => handle.modelCalls(range),
    explain: (modelCall) => handle.explain(modelCall),
    fork: (async (options) => conversationOf(await handle.fork(options), disclosure)) as Conversation['fork'],
    forks: (page) => handle.forks(page),
    lineage: (options) => handle.lineage(options),
    rename: (title) => handle.rename(title),
    continue: () => handle.continue(),
    detach: () => handle.detach(),
    delete: () => handle.delete(),
  }
  return passPermission(handle, disclosed, (open) => conversationOf(open, disclosure))
}

function sessionOf(session: FlowSession<unknown>, disclosure: Disclosure): FlowSession<unknown> {
  return {
    id: session.id,
    start: async (input, options) => discloseStanding(await session.start(input, options), disclosure),
    resume: async (value, options) => discloseStanding(await session.resume(value, options), disclosure),
    continue: async (options) => discloseStanding(await session.continue(options), disclosure),
    outcome: async (options) => discloseStanding(await session.outcome(options), disclosure),
    status: () => session.status(),
    pending: () => session.pending(),
    suspensions: () => session.suspensions(),
    wakeAt: () => session.wakeAt(),
    result: () => session.result(),
    async record(options) {
      const record = await session.record(options)
      return record && { ...record, outcomes: record.outcomes.map((one) => discloseFlowOutcome(one, disclosure)) }
    },
    events: async (range) => discloseEvents(await session.events(range), disclosure),
    async *watch(options) {
      for await (const event of session.watch(options)) yield discloseEvent(event, disclosure)
    },
    fork: async (newId, options) => sessionOf(await session.fork(newId, options), disclosure),
    forks: (page) => session.forks(page),
    lineage: (options) => session.lineage(options),
    delete: () => session.delete(),
  }
}

function inspectionOf(inspection: Inspection, disclosure: Disclosure): Inspection {
  return {
    ref: inspection.ref,
    record: (action, about) => inspection.record(action, about),
    waitsFor: () => inspection.waitsFor(),
    // Names, times and counts.
    work: () => inspection.work(),
    // Model calls need no filter: `readsPrompts` routes refuse callers who may not read prompts.
    modelCalls: (range) => inspection.modelCalls(range),
    explain: (turnRef, range) => inspection.explain(turnRef, range),
    snapshot: async () => discloseSnapshot(await inspection.snapshot(), disclosure),
    async turns(page) {
      const { turns, ...rest } = await inspection.turns(page)
      const disclosed = turns.map((record) => ({
        ...record,
        turn: discloseTurn(record.turn, disclosure),
        said: record.said.map(discloseSaid),
      }))
      return { ...rest, turns: disclosed }
    },
    async *pages(range) {
      for await (const page of inspection.pages(range, disclosure)) {
        yield { ...page, events: { [Symbol.iterator]: () => disclosed(page.events, disclosure) } }
      }
    },
    file: (blob) => inspection.file(blob),
  }
}

function* disclosed(events: Iterable<LogEvent>, disclosure: Disclosure): Generator<LogEvent> {
  for (const event of events) yield discloseEvent(event, disclosure)
}

function answered<A extends Answered | Extended>(answer: A, call: CallRef, disclosure: Disclosure): A {
  if (answer.accepted) return answer
  const callId = typeof call === 'string' ? call : call.callId
  return { ...answer, resolution: discloseResolution(answer.resolution, callId, disclosure) }
}

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
    throw new OperatorOnlyError('Prompts are')
  return { scope, isOperator }
}

/** Anything but an object is refused. */
export async function scopeOf(request: Request, { authenticate, upkeep }: ServerSettings): Promise<Scope | null> {
  // The operator token never acts as a user, even if `authenticate` would accept it.
  if (isSameSecret(bearerToken(request) ?? '', upkeep?.operatorToken ?? '')) return null
  const given: unknown = await authenticate(request)
  return typeof given === 'object' && given !== null ? (given as Scope) : null
}

/** Does not ask `authenticate`: a user of one tenant must not reach the others. */
export async function isFromOperator(
  request: Request,
  route: string,
  { upkeep, logger }: ServerSettings,
): Promise<boolean> {
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
