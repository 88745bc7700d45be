import { once } from 'node:events'
import { createServer, type Server as NodeServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import type { Agent } from '../define/agent.ts'
import { createScope, type Scope } from '../define/scope.ts'
import { openHandler, type ServedRuntime } from './create-handler.ts'
import { bearerToken, operatorOrBearerToken } from './guard/secret.ts'
import { LocalSecrets, LocalToken } from './node/local-token.ts'
import { toNodeListener } from './node/to-node-listener.ts'
import { type Authenticate, defaultLimits, type ServerOptions } from './server-options.ts'
import { serverProblems } from './server-problems.ts'
import { StudioSignIn } from './studio/studio-sign-in.ts'

/** Options of `serve`. */
export type ServeOptions = ServerOptions & {
  /** Default: 4111. 0 picks a free port. */
  readonly port?: number
  /** Default: 127.0.0.1. Any other address needs `authenticate`. */
  readonly host?: string
  /** The scope of requests from this machine when there is no `authenticate`. Default: the user 'local'. */
  readonly localScope?: Scope
  /**
   * A file for the server's address and a secret that is new on each start. Requests with this secret act as
   * `localScope`; all others need `authenticate`. With `upkeep`, the file also contains a second secret for operators.
   * With `studio`, `studioUrl` of the server then has a code that signs a page in.
   */
  readonly localTokenFile?: string
}

/** A running server. */
export type Server = {
  readonly url: string
  readonly port: number
  /**
   * The address of the studio. With `localTokenFile` it has a new code that signs one page in as `localScope` and operator, once
   * and within ten minutes. Null without `studio`.
   */
  studioUrl(): string | null
  /** Connected live clients, and conversations kept in memory for them. */
  streams(): { readonly clients: number; readonly conversations: number }
  /**
   * Stops accepting requests, ends live streams and waits up to `drainMs` for running requests; then closes their
   * connections. The runtime stays open.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

/** Whether only this machine reaches a server that listens there. */
export function isOwnAddress(host: string): boolean {
  return ['127.0.0.1', '::1', 'localhost'].includes(host)
}

/** Serves a runtime with Node's HTTP server. Without `authenticate` it answers this machine only. */
export async function serve<Agents extends readonly Agent[]>(
  runtime: ServedRuntime<Agents>,
  options: ServeOptions = {},
): Promise<Server> {
  const problems = serverProblems(options)
  if (problems.length > 0) throw new DefinitionError('The server', problems)
  const { port = 4111, host = '127.0.0.1', localTokenFile } = options
  if (!options.authenticate && !isOwnAddress(host)) {
    throw new DefinitionError('The server', [
      `it may not listen on '${host}' without 'authenticate'; pass (request) => scope`,
    ])
  }
  const hasOperators = options.upkeep !== undefined
  const token = localTokenFile === undefined ? null : new LocalToken(localTokenFile, { hasOperators })
  const signIn = options.studio && token ? new StudioSignIn({ hasOperators }) : null
  const locals = token && new LocalSecrets(token, signIn)
  const authenticate = authenticatorOf(options, locals)
  const door = locals && signIn && { signIn, mayIssue: (request: Request) => locals.mayIssue(request) }
  const handler = openHandler(runtime, { ...options, ...upkeepOf(options, locals), authenticate }, door)
  const { headerBytes, stallMs } = { ...defaultLimits, ...options.limits }
  // No request timeout: `readBody` limits how long a body may take, and an import may take longer.
  const server = createServer({ maxHeaderSize: headerBytes, requestTimeout: 0, headersTimeout: 15_000 })
  readBeforeClosing(server)
  server.on('request', toNodeListener(handler, { stallMs, isClosing: () => !server.listening }))
  server.listen(port, host)
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${taken}`
  const studioUrl = options.studio ? `${url}${(options.basePath ?? '').replace(/\/+$/, '')}/studio` : null
  await token?.write(url, studioUrl)

  async function close(drainMs: number): Promise<void> {
    const closed = once(server, 'close')
    server.close()
    handler.close()
    server.closeIdleConnections()
    const cutOff = setTimeout(() => server.closeAllConnections(), drainMs)
    await closed
    clearTimeout(cutOff)
    await handler.settled()
    await token?.remove()
  }

  let closing: Promise<void> | null = null
  return {
    url,
    port: taken,
    // The code is behind the `#`, so that no server and no log of a proxy sees it.
    studioUrl: () => studioUrl && studioUrl + (signIn ? `#code=${signIn.issue()}` : ''),
    streams: () => handler.streams(),
    close: ({ drainMs = 5_000 } = {}) => {
      closing ??= close(drainMs)
      return closing
    },
  }
}

function authenticatorOf({ authenticate, localScope }: ServeOptions, locals: LocalSecrets | null): Authenticate {
  const local = localScope ?? (createScope({ user: 'local' }) as Scope)
  if (!locals) return authenticate ?? (() => local)
  return (request) => {
    const given = bearerToken(request)
    if (locals.isOfUser(given)) return local
    // The operator token never acts as a user, even if `authenticate` would accept it.
    return locals.isOfOperator(given) ? null : (authenticate?.(request) ?? null)
  }
}

function upkeepOf({ upkeep }: ServeOptions, locals: LocalSecrets | null): Pick<ServerOptions, 'upkeep'> {
  if (!upkeep || !locals) return {}
  const { isOperator } = upkeep
  return {
    upkeep: {
      ...upkeep,
      isOperator: (request) => {
        const given = operatorOrBearerToken(request)
        return locals.isOfOperator(given) || (!locals.isOfUser(given) && (isOperator?.(request) ?? false))
      },
    },
  }
}

/**
 * Node checks its keep-alive timers before it reads from sockets. After the process was busy, it would close
 * connections whose next request arrived in time. This reads once more before it closes an idle connection.
 */
export function readBeforeClosing(server: NodeServer): void {
  server.on('timeout', (socket) => {
    setImmediate(() => {
      // Reading a request resets the timeout.
      if (socket.timeout !== 0) socket.destroy()
    })
  })
}
