import { json } from '../answer.ts'
import { openApiOf } from '../openapi.ts'
import type { Route } from '../route.ts'

export const openApiRoutes: readonly Route[] = [
  {
    name: 'openApi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    answer: { status: 200, description: 'An OpenAPI 3.1 document of every route.' },
    handle: async ({ server }) => json(openApiOf(server.routes, server.settings.basePath)),
  },
]
