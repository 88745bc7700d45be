import { NotReadyError } from '../../base/errors/server-errors.ts'
import type { JsonObject } from '../../base/json.ts'
import { json } from '../answer.ts'
import type { Route } from '../route.ts'
import { agUiRoutes } from './ag-ui.ts'
import { conversationRoutes, fileRoutes, liveRoutes, recordRoutes } from './conversations.ts'
import { fleetRoutes, jobRoutes } from './fleet.ts'
import { flowRoutes } from './flows.ts'
import { storeRoutes } from './store.ts'
import { outboxRoutes, tenantRoutes } from './tenant.ts'
import { callRoutes, turnRoutes } from './turns.ts'
import { uiRoutes } from './ui.ts'

const openApiRoutes: readonly Route[] = [
  {
    name: 'openApi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    answer: { status: 200, description: 'An OpenAPI 3.1 document of every route.' },
    handle: async ({ server }) => json(openApiOf(server.routes, server.settings.basePath)),
  },
]

/** The OpenAPI document of a table of routes, from the schemas that check requests. */
function openApiOf(routes: readonly Route[], basePath: string): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Perdure', version: '1', description: 'Durable conversations of AI agents.' },
    servers: [{ url: basePath || '/' }],
    paths,
    components: { schemas: { Problem: problem } },
  }
}

function operationOf({ name, summary, path, query, body, takesLines, answer, isPublic }: Route): JsonObject {
  const { status, description, type = 'application/json' } = answer
  const content = status === 204 ? {} : { content: { [type]: { schema: {} } } }
  return {
    operationId: name,
    summary,
    parameters: [...pathParameters(path), ...queryParameters(query)],
    ...(body ? { requestBody: { content: { 'application/json': { schema: body } } } } : {}),
    ...(takesLines ? { requestBody: { content: { 'application/x-ndjson': { schema: {} } } } } : {}),
    responses: { [String(status)]: { description, ...content }, default: failure },
    ...(isPublic ? { security: [] } : {}),
  }
}

function pathParameters(path: string): JsonObject[] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  return names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
}

function queryParameters(query: JsonObject = {}): JsonObject[] {
  const required = (query['required'] ?? []) as readonly string[]
  return Object.entries((query['properties'] ?? {}) as JsonObject).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

const failure: JsonObject = {
  description: 'What happened and what to do, as in docs/errors.md.',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

const problem: JsonObject = {
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'detail', 'retryable'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string' },
    detail: { type: 'string' },
    retryable: { type: 'boolean' },
  },
}

const healthRoutes: readonly Route[] = [
  {
    name: 'health',
    method: 'GET',
    path: '/health',
    summary: 'Whether the process answers, even if its store does not',
    isPublic: true,
    answer: { status: 200, description: 'The process is up.' },
    handle: async () => json({ status: 'ok' }),
  },
  {
    name: 'ready',
    method: 'GET',
    path: '/ready',
    summary: 'Whether the store answers and the worker can find work',
    isPublic: true,
    answer: { status: 200, description: 'The process can work. Otherwise the error `not_ready` says what is missing.' },
    async handle({ server }) {
      const { isReady, store, worker } = await server.readiness()
      if (!isReady) throw new NotReadyError(store, worker)
      return json({ status: 'ready', store, worker })
    },
  },
]

/** All routes. Operator routes are served only with `upkeep`. Each route needs a case in the tenancy test. */
export const allRoutes: readonly Route[] = [
  ...healthRoutes,
  ...openApiRoutes,
  ...tenantRoutes,
  ...conversationRoutes,
  ...turnRoutes,
  ...callRoutes,
  ...liveRoutes,
  ...fileRoutes,
  ...recordRoutes,
  ...flowRoutes,
  ...uiRoutes,
  ...agUiRoutes,
  ...storeRoutes,
  ...outboxRoutes,
  ...jobRoutes,
  ...fleetRoutes,
]
