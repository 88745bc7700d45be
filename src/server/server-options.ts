import type { Logger } from '../base/logger.ts'
import { safeLogger } from '../base/redact/redacting-logger.ts'
import type { Scope } from '../define/scope.ts'
import type { Store } from '../store/store.ts'
import { isSameSecret, operatorOrBearerToken } from './guard/secret.ts'

/** Options of `createHandler` and `serve`. Access is denied unless it is granted here. */
export type ServerOptions = {
  /**
   * Returns the scope of a request. It is the only source of identity. Null refuses the request; so does a throw, which
   * is logged.
   */
  readonly authenticate?: Authenticate
  /** Host names that this server answers to, with or without a port. Default: localhost, 127.0.0.1 and [::1]. */
  readonly allowedHosts?: readonly string[]
  /** Other origins whose pages may call this server, such as 'https://app.example.com'. Default: none. */
  readonly allowedOrigins?: readonly string[]
  /** Called once per request, after `authenticate`. Default: no limit. */
  readonly rateLimit?: RateLimit
  /** The path that the handler is mounted at, such as '/api/agents'. Default: the root. */
  readonly basePath?: string
  readonly limits?: Partial<Limits>
  /**
   * Whether a message may set `output`, `untilTool`, `maxSteps` and `maxTokens`. The last two can only lower the
   * agent's limits. False refuses messages with any of them. Default: true.
   */
  readonly turnOptions?: boolean
  /**
   * Whether callers may send their own JSON Schema as `output` of a message. Checking it has a limited cost, but its
   * text goes to the model. Default: false.
   */
  readonly callerSchemas?: boolean
  /** Lets operators export, import, examine and clean up the whole store. Default: these routes do not exist. */
  readonly upkeep?: UpkeepOptions
  /**
   * Whether clients see the error texts of tools, steps, hooks and providers, with secrets redacted. Default: false.
   * Then they see that something failed, with the call's id or the error code, and the text of a `UserFacingError`.
   */
  readonly showErrors?: boolean
  /**
   * Who may read the prompts sent to models, including system prompts: all users, or those for whom the function
   * returns `true`. A throw refuses the request and is logged. Operators always may. Default: false.
   */
  readonly showPrompts?: boolean | ((scope: Scope, request: Request) => boolean | Promise<boolean>)
  /**
   * Serves the studio at `/studio` below `basePath`: a page to read and steer agents, for the callers that `authenticate`
   * accepts. Throws `StudioNotBuiltError` where its files are missing. Default: false.
   */
  readonly studio?: boolean
  readonly logger?: Logger
}

/**
 * Who may maintain a store over HTTP. Operators see and change all tenants, so no tenant's user is an operator by
 * default.
 */
export type UpkeepOptions = {
  /** The store of the runtime. */
  readonly store: Pick<Store, 'upkeep' | 'outbox' | 'jobs' | 'nodes' | 'steering' | 'forTenant'>
  /**
   * Whether an operator sent the request. Anything but `true` refuses it; so does a throw, which is logged. Called on
   * operator routes, and on other routes when the request has the header `perdure-operator`: see `operatorToken`. With
   * `localTokenFile` of `serve`, the operator token in that file is accepted too.
   */
  readonly isOperator?: IsOperator
  /**
   * Requests with this token come from an operator. Must not be empty. Without it, `isOperator` or `localTokenFile` is
   * needed.
   */
  readonly operatorToken?: string
  /**
   * Agents that have code, and flows as `flow:<name>`. An examination reports work for all others. Default: it reports
   * none.
   */
  readonly agents?: readonly string[]
  /**
   * Adds counts of this process to `/metrics`, which has figures of the store without it: `prometheus()` of
   * `perdure/telemetry`. Default: none.
   */
  readonly metrics?: { text(): string }
}

/** Tells whether an operator sent a request. */
export type IsOperator = (request: Request) => boolean | Promise<boolean>

/** Returns the scope of a request. Null or undefined refuses it. */
export type Authenticate = (request: Request) => Scope | null | undefined | Promise<Scope | null | undefined>

/** `scope` is null when the request is not authenticated, and on operator routes, which have no scope. */
export type RateLimit = (asked: {
  readonly request: Request
  readonly scope: Scope | null
  readonly route: string
}) => RateVerdict | Promise<RateVerdict>

/** Whether a request may pass, and when to retry if not. */
export type RateVerdict = { readonly allowed: true } | { readonly allowed: false; readonly retryAfterMs: number }

/** What one request or live stream may cost this server. */
export type Limits = {
  /** Size of a JSON body. An import may be larger. */
  readonly bodyBytes: number
  /** Time for a JSON body to arrive. */
  readonly bodyMs: number
  readonly headerBytes: number
  readonly urlBytes: number
  /** Nesting depth of JSON. */
  readonly depth: number
  /**
   * Size of a response that shows a log, a list or an audit. The rest is on the next page, and the response says so. A
   * single event is always sent whole. A view or the snapshot of a live stream is built from about a quarter of this,
   * because it contains its data several times.
   */
  readonly answerBytes: number
  /**
   * Size of all such responses that are being built or sent. Further requests wait, and stalled clients are
   * disconnected for them.
   */
  readonly unsentBytes: number
  /** Bytes that may wait for one client of a live stream. Beyond that, the stream is closed. */
  readonly streamBytes: number
  /** Live streams at the same time. */
  readonly streams: number
  /** How often an idle live stream sends a heartbeat. */
  readonly heartbeatMs: number
  /** How long a feed is kept in memory for clients that reconnect. */
  readonly lingerMs: number
  /** The longest time that a request waits for a turn or a session. */
  readonly waitMs: number
  /**
   * How long a client of `serve` may read nothing of its response, or an import may send nothing, before it is
   * disconnected. A connection that makes progress is never cut off.
   */
  readonly stallMs: number
  /** Exports, imports and other maintenance jobs at the same time. */
  readonly upkeep: number
}

export const defaultLimits: Limits = {
  bodyBytes: 4 * 1024 * 1024,
  bodyMs: 30_000,
  headerBytes: 16 * 1024,
  urlBytes: 8 * 1024,
  depth: 64,
  answerBytes: 4 * 1024 * 1024,
  unsentBytes: 64 * 1024 * 1024,
  streamBytes: 1024 * 1024,
  streams: 10_000,
  heartbeatMs: 15_000,
  lingerMs: 10_000,
  waitMs: 30_000,
  stallMs: 300_000,
  upkeep: 4,
}

/** Options with all defaults filled in. */
export type ServerSettings = Required<Omit<ServerOptions, 'limits' | 'rateLimit' | 'upkeep'>> & {
  readonly limits: Limits
  readonly rateLimit: RateLimit | null
  readonly upkeep: (UpkeepOptions & { readonly isOperator: IsOperator }) | null
}

export function settingsOf(options: ServerOptions, authenticate: Authenticate): ServerSettings {
  return {
    authenticate,
    allowedHosts: options.allowedHosts ?? ['localhost', '127.0.0.1', '[::1]'],
    allowedOrigins: options.allowedOrigins ?? [],
    rateLimit: options.rateLimit ?? null,
    basePath: (options.basePath ?? '').replace(/\/+$/, ''),
    limits: { ...defaultLimits, ...options.limits },
    turnOptions: options.turnOptions ?? true,
    callerSchemas: options.callerSchemas === true,
    logger: safeLogger(options.logger),
    showErrors: options.showErrors ?? false,
    showPrompts: options.showPrompts ?? false,
    studio: options.studio ?? false,
    upkeep: options.upkeep ? { ...options.upkeep, isOperator: isOperatorOf(options.upkeep) } : null,
  }
}

/** Accepts the operator token, or whatever `isOperator` accepts. */
function isOperatorOf({ isOperator = () => false, operatorToken }: UpkeepOptions): IsOperator {
  if (operatorToken === undefined) return isOperator
  return (request) => isSameSecret(operatorOrBearerToken(request) ?? '', operatorToken) || isOperator(request)
}
