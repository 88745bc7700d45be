import type { Hono } from 'hono'
import { MethodNotAllowedError, RouteNotFoundError } from '../base/errors/server-errors.ts'
import type { Route } from './route.ts'

export type Answer = (request: Request) => Promise<Response>

type Handle = (route: Route, params: Readonly<Record<string, string>>, request: Request) => Promise<Response>

/** Finds the route of a request. What is thrown passes through. */
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
