import { consoleLogger, type Logger } from '../logger/logger.ts'
import type { Scope } from '../scope/register.ts'

/** What `createHandler` and `serve` take. Everything is closed until it is opened here. */
export type ServerOptions = {
  /** Says who sent a request, and is the only source of identity. Null refuses it; so does a throw, which is logged. */
  readonly authenticate?: Authenticate
  /** Names this server answers for, with or without a port. Default: the names of this machine to itself. */
  readonly allowedHosts?: readonly string[]
  /** Origins of other pages that may call this server, as in 'https://app.example.com'. Default: none. */
  readonly allowedOrigins?: readonly string[]
  /** Asked once for each request, after `authenticate`. Default: everything may pass. */
  readonly rateLimit?: RateLimit
  /** Where the handler is mounted, as in '/api/agents'. Default: the root. */
  readonly basePath?: string
  readonly limits?: Partial<Limits>
  readonly logger?: Logger
}

/** Tells who sent a request. Null or undefined: nobody, and it is refused. */
export type Authenticate = (request: Request) => Scope | null | undefined | Promise<Scope | null | undefined>

/** `scope` is null when the request was not authenticated. */
export type RateLimit = (asked: {
  readonly request: Request
  readonly scope: Scope | null
  readonly route: string
}) => RateVerdict | Promise<RateVerdict>

/** Whether a request may pass, and if not, when to try again. */
export type RateVerdict = { readonly allowed: true } | { readonly allowed: false; readonly retryAfterMs: number }

/** What a request, and a live stream, may take of this server. */
export type Limits = {
  readonly bodyBytes: number
  readonly headerBytes: number
  readonly urlBytes: number
  /** How deeply JSON may be nested. */
  readonly depth: number
  /** What may wait for one client of a live stream before it is closed. */
  readonly streamBytes: number
  /** Live streams at once. */
  readonly streams: number
  /** How often an idle live stream shows that it lives. */
  readonly heartbeatMs: number
  /** How long what was live is kept for a client that comes back. */
  readonly lingerMs: number
  /** The longest a request waits for a turn or a session. */
  readonly waitMs: number
}

export const defaultLimits: Limits = {
  bodyBytes: 4 * 1024 * 1024,
  headerBytes: 16 * 1024,
  urlBytes: 8 * 1024,
  depth: 64,
  streamBytes: 1024 * 1024,
  streams: 10_000,
  heartbeatMs: 15_000,
  lingerMs: 10_000,
  waitMs: 30_000,
}

/** With every default written in. */
export type ServerSettings = Required<Omit<ServerOptions, 'limits' | 'rateLimit'>> & {
  readonly limits: Limits
  readonly rateLimit: RateLimit | null
}

export function settingsOf(options: ServerOptions, authenticate: Authenticate): ServerSettings {
  return {
    authenticate,
    allowedHosts: options.allowedHosts ?? ['localhost', '127.0.0.1', '[::1]'],
    allowedOrigins: options.allowedOrigins ?? [],
    rateLimit: options.rateLimit ?? null,
    basePath: (options.basePath ?? '').replace(/\/+$/, ''),
    limits: { ...defaultLimits, ...options.limits },
    logger: options.logger ?? consoleLogger,
  }
}
