import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import type { Agent } from '../define/agent.ts'
import { createScope } from '../define/create-scope.ts'
import type { Scope } from '../define/register.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { createHandler } from './create-handler.ts'
import { bearerToken, operatorOrBearerToken } from './guard/secret.ts'
import { loadHono } from './load-hono.ts'
import { LocalToken } from './node/local-token.ts'
import { readBeforeClosing } from './node/read-before-closing.ts'
import { requestListener } from './node/request-listener.ts'
import { type Authenticate, defaultLimits, type ServerOptions } from './server-options.ts'
import { serverProblems } from './server-problems.ts'

/** What `serve` takes. */
export type ServeOptions = ServerOptions & {
  /** Default: 4111. 0 takes a free one. */
  readonly port?: number
  /** Default: 127.0.0.1. Any other address needs `authenticate`. */
  readonly host?: string
  /** Who this machine acts as where `authenticate` is not asked. Default: the user 'local'. */
  readonly localScope?: Scope
  /**
   * A file that gets the address and a secret of this run; whoever brings it acts as `localScope`. Everybody else needs `authenticate`. With `upkeep`, it gets a second
   * secret, for operators.
   */
  readonly localTokenFile?: string
}

/** A server that listens. */
export type Server = {
  readonly url: string
  readonly port: number
  /** Who watches now, and the conversations that are kept in memory for it. */
  streams(): { readonly clients: number; readonly conversations: number }
  /** Takes no more requests, ends the live streams, and waits up to `drainMs` for the rest, which is then cut off. The runtime stays open. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

const ownAddresses = ['127.0.0.1', '::1', 'localhost']

/** Serves a runtime on Node. Closed by default: this machine alone, unless somebody says who may come in. */
export async function serve<Agents extends readonly Agent[]>(
  runtime: Pick<Runtime<Agents>, 'as' | 'readiness'>,
  options: ServeOptions = {},
): Promise<Server> {
  const problems = serverProblems(options)
  if (problems.length > 0) throw new DefinitionError('The server', problems)
  const { port = 4111, host = '127.0.0.1', localTokenFile } = options
  if (!options.authenticate && !ownAddresses.includes(host)) {
    throw new DefinitionError('The server', [
      `it may not listen on '${host}' without 'authenticate'; pass (request) => scope`,
    ])
  }
  await loadHono()
  const hasOperators = options.upkeep !== undefined
  const token = localTokenFile === undefined ? null : new LocalToken(localTokenFile, { hasOperators })
  const authenticate = authenticatorOf(options, token)
  const handler = createHandler(runtime, { ...options, ...upkeepOf(options, token), authenticate })
  const { headerBytes, stallMs } = { ...defaultLimits, ...options.limits }
  // How long a body may take is for the guard that reads it: an import may take its time.
  const server = createServer({ maxHeaderSize: headerBytes, requestTimeout: 0, headersTimeout: 15_000 })
  readBeforeClosing(server)
  server.on('request', requestListener(handler, { stallMs, isClosing: () => !server.listening }))
  server.listen(port, host)
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${taken}`
  await token?.write(url)

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
    streams: () => handler.streams(),
    close: ({ drainMs = 5_000 } = {}) => {
      closing ??= close(drainMs)
      return closing
    },
  }
}

function authenticatorOf({ authenticate, localScope }: ServeOptions, token: LocalToken | null): Authenticate {
  const local = localScope ?? (createScope({ user: 'local' }) as Scope)
  if (!token) return authenticate ?? (() => local)
  return (request) => {
    const given = bearerToken(request)
    if (token.isOfUser(given)) return local
    // Whatever `authenticate` makes of tokens: this one acts as nobody.
    return token.isOfOperator(given) ? null : (authenticate?.(request) ?? null)
  }
}

function upkeepOf({ upkeep }: ServeOptions, token: LocalToken | null): Pick<ServerOptions, 'upkeep'> {
  if (!upkeep || !token) return {}
  const { isOperator } = upkeep
  return {
    upkeep: {
      ...upkeep,
      isOperator: (request) => {
        const given = operatorOrBearerToken(request)
        return token.isOfOperator(given) || (!token.isOfUser(given) && (isOperator?.(request) ?? false))
      },
    },
  }
}
