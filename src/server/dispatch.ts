import type { Runtime, Verbs } from '../runtime/runtime.ts'
import { type Disclosure, everything } from '../view/disclose.ts'
import { disclosedVerbs } from './disclosed-verbs.ts'
import { identifyCaller } from './guard/identify-caller.ts'
import { checkMediaType, readBody } from './guard/read-body.ts'
import { inRoom } from './in-room.ts'
import { checkBody, readQuery } from './read-input.ts'
import type { Route, RouteCall, ServerContext } from './route.ts'
import { noQuery } from './schemas.ts'

/** Takes a request through its route: who it is, what is asked, and then what happens. */
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
  const verbs = scope === null ? nobody : disclosedVerbs(runtime.as(scope), disclosure)
  const query = await readQuery(route.query ?? noQuery, new URL(request.url))
  if (route.takesLines) checkMediaType(request, 'application/x-ndjson')
  const body = route.body ? await checkBody(route.body, await readBody(request, settings.limits)) : null
  const call: RouteCall = { verbs, disclosure, params, query, body, request, server }
  return isLarge(route) ? inRoom(call, () => route.handle(call)) : route.handle(call)
}

/** Whatever a route reads may be large, unless it is said not to be; what is streamed has limits of its own. */
function isLarge({ method, isPublic, isForOperators, waits, answer }: Route): boolean {
  const isStreamed = answer.type === 'text/event-stream'
  return method === 'GET' && !isPublic && !isForOperators && !waits && !isStreamed
}

/** A public route that acts is a mistake, and must not act as anybody; nor does an operator. */
const nobody = new Proxy({} as Verbs, {
  get() {
    throw new Error('this route has no identity to act with')
  },
})
