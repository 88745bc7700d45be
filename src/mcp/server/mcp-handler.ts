import type { McpHttpHandler } from '@modelcontextprotocol/server'
import { DefinitionError } from '../../base/errors/definition-errors.ts'
import { numberProblems } from '../../base/errors/read-options.ts'
import { InvalidRequestError } from '../../base/errors/server-errors.ts'
import type { Json } from '../../base/json.ts'
import { createClient } from '../../client/create-client.ts'
import type { Scope } from '../../define/scope.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { ByteBudget } from '../../server/byte-budget.ts'
import { createHandler, type ServedRuntime } from '../../server/create-handler.ts'
import { identifyCaller } from '../../server/dispatch.ts'
import { checkHost, checkOrigin, checkSize, corsHeaders, preflight, readBody } from '../../server/guard/read-body.ts'
import { logFailure, problemOf } from '../../server/problem.ts'
import type { Route } from '../../server/route.ts'
import { type Limits, type ServerOptions, settingsOf } from '../../server/server-options.ts'
import { agentServer, type ServedCaller } from './agent-server.ts'
import { HeldBytes } from './held-bytes.ts'
import { loadServer } from './load-server.ts'

/** Options of `mcpHandler`: those of `createHandler` that decide who may do what, and how long a call waits. */
export type McpHandlerOptions = Pick<
  ServerOptions,
  'authenticate' | 'allowedHosts' | 'allowedOrigins' | 'rateLimit' | 'limits' | 'showErrors' | 'logger'
> & {
  /** How long a call waits for the agent. After it the result says that the agent is still at work. Default: 50,000, since most clients wait a minute. */
  readonly waitMs?: number
}

/** Handles web `Request`s of MCP clients. Never rejects. */
export type McpHandler = ((request: Request) => Promise<Response>) & {
  /** Ends the streams. Turns continue. */
  close(): Promise<void>
}

const mcpRoute = { name: 'mcp' } as unknown as Route

/** What clients send with a request, beside what every client of the server sends. */
const mcpHeaders = ['mcp-protocol-version', 'mcp-method', 'mcp-name']

/**
 * Serves the agents of a runtime to MCP clients over streamable HTTP: each agent is a tool, conversations are resources, and the inbox is two tools. Every request is
 * checked like one to `createHandler`, with the same `authenticate`, and acts through the same routes, so `authorize` decides. A call that waits for a person answers
 * `input_required`; pass `secret` to `createRuntime`, so that any process can take the answer. Throws `DefinitionError` without `authenticate`.
 */
export function mcpHandler(runtime: ServedRuntime, options: McpHandlerOptions): McpHandler {
  const { waitMs = 50_000, ...served } = Object(options) as McpHandlerOptions
  const problems = numberProblems({ waitMs }, { waitMs: 1 })
  if (problems.length > 0) throw new DefinitionError('mcpHandler()', problems)
  const scopes = new WeakMap<Request, Scope>()
  const { rateLimit: _, allowedOrigins: __, ...inner } = served
  // Checks the options, `authenticate` too.
  createHandler(runtime, served)
  const routes = createHandler(runtime, {
    ...inner,
    allowedHosts: ['localhost'],
    // Who it is was asked at the door.
    authenticate: (request) => scopes.get(request) ?? null,
  })
  const settings = settingsOf(served, served.authenticate!)
  const callers = new WeakMap<object, ServedCaller>()
  const budget = new ByteBudget({ bytes: settings.limits.unsentBytes })
  let handler: Promise<McpHttpHandler> | null = null

  const open = async (): Promise<McpHttpHandler> => {
    const { createMcpHandler } = await loadServer()
    return createMcpHandler(({ authInfo, era }) => agentServer(callers.get(authInfo?.extra as object)!, era))
  }

  async function callerOf(scope: Scope, held: HeldBytes): Promise<ServedCaller> {
    const current = ('as' in runtime ? runtime : await runtime.get()) as Pick<Runtime, 'as' | 'signedStates'>
    const client = createClient({
      url: 'http://localhost',
      fetch: async (url, init) => {
        const request = new Request(url, init)
        scopes.set(request, scope)
        const response = await routes(request)
        try {
          await held.take(response, request.signal)
          return response
        } catch (error) {
          await response.body?.cancel()
          return problemOf(error)
        }
      },
    })
    return { client, agents: current.as(scope).agents, states: current.signedStates, waitMs }
  }

  async function answer(request: Request): Promise<Response> {
    checkSize(request, settings.limits)
    checkHost(request, settings.allowedHosts)
    checkOrigin(request, settings.allowedOrigins)
    if (request.method === 'OPTIONS') return preflight(request, settings.allowedOrigins, mcpHeaders)
    const { scope } = await identifyCaller(request, mcpRoute, settings)
    handler ??= open()
    const parsedBody = request.method === 'POST' ? await readMessage(request, settings.limits) : undefined
    const extra = {}
    const held = new HeldBytes(budget, settings.limits)
    callers.set(extra, await callerOf(scope!, held))
    try {
      const authInfo = { token: '', clientId: '', scopes: [], extra }
      return held.untilSent(await (await handler).fetch(request, { authInfo, parsedBody }))
    } catch (error) {
      held.release()
      throw error
    }
  }

  const handle = async (request: Request): Promise<Response> => {
    const response = await answer(request).catch((error: unknown) => {
      logFailure(error, request, settings)
      return problemOf(error)
    })
    const headers = new Headers(response.headers)
    const isListed = settings.allowedOrigins.length > 0
    const cors = isListed ? { vary: 'origin', ...corsHeaders(request, settings.allowedOrigins) } : {}
    for (const [name, value] of Object.entries({ 'x-content-type-options': 'nosniff', ...cors }))
      if (!headers.has(name)) headers.set(name, value)
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
  }
  return Object.assign(handle, {
    close: async () => {
      routes.close()
      await (await handler)?.close()
    },
  })
}

/** One message. `rateLimit` was asked once for it, so a list of them, which only the oldest protocol has, is refused. */
async function readMessage(request: Request, limits: Limits): Promise<Json> {
  const message = await readBody(request, limits)
  if (Array.isArray(message))
    throw new InvalidRequestError('body', 'it is a batch of messages; send each in a request of its own')
  return message
}
