import type { Runtime, Verbs } from '../runtime/runtime.ts'
import { identifyCaller } from './guard/identify-caller.ts'
import { readBody } from './guard/read-body.ts'
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
  const verbs = route.isPublic ? nobody : runtime.as(await identifyCaller(request, route.name, settings))
  const query = await readQuery(route.query ?? noQuery, new URL(request.url))
  const body = route.body ? await checkBody(route.body, await readBody(request, settings.limits)) : null
  const call: RouteCall = { verbs, params, query, body, request, server }
  return route.handle(call)
}

/** A public route that acts is a mistake, and must not act as anybody. */
const nobody = new Proxy({} as Verbs, {
  get() {
    throw new Error('a public route has no identity to act with')
  },
})
