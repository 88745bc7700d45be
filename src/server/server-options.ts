import type { Logger } from '../base/logger.ts'
import { safeLogger } from '../base/redact/redacting-logger.ts'
import type { Scope } from '../define/scope.ts'
import type { Store } from '../store/store.ts'
import { isSameSecret, operatorOrBearerToken } from './guard/secret.ts'

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
  /**
   * Whether a message may come with `output`, `untilTool`, `maxSteps` and `maxTokens`. The last two only lower what the agent allows. False refuses a
   * message with any of them. Default: true.
   */
  readonly turnOptions?: boolean
  /**
   * Whether callers may send a JSON Schema of their own along, as `output` of a message. It is checked within a budget of steps, but what it says is handed
   * to the model. Default: false.
   */
  readonly callerSchemas?: boolean
  /** Lets operators export, import, examine and tidy the whole store. Default: there are no such routes. */
  readonly upkeep?: UpkeepOptions
  /**
   * Whether pages are shown what tools, steps, hooks and providers said when they failed, secrets taken out. Default: false. They are told that it failed, with the
   * id of the call or the code; the words only where they are meant for people: see `UserFacingError`.
   */
  readonly showErrors?: boolean
  /**
   * Who may read what models were given, system prompts among it: everybody, or those for whom a function returns `true`; a throw refuses, and is logged. Default: false.
   * Operators may.
   */
  readonly showPrompts?: boolean | ((scope: Scope, request: Request) => boolean | Promise<boolean>)
  readonly logger?: Logger
}

/** Who may look after a store over HTTP. They see and change all tenants, so no user of a tenant is one by being that. */
export type UpkeepOptions = {
  /** The one that the runtime works on. */
  readonly store: Pick<Store, 'upkeep' | 'forTenant'>
  /**
   * Whether an operator sent a request. Anything but `true` refuses it; so does a throw, which is logged. Asked on routes for operators, and on others where a user
   * brings the header `perdure-operator` as well: see `operatorToken`. With `localTokenFile` of `serve`, whoever brings the operator token of that file is an operator, too.
   */
  readonly isOperator?: IsOperator
  /** Whoever brings this one is an operator, too. Must not be empty. Without it, `isOperator` or `localTokenFile` is needed. */
  readonly operatorToken?: string
  /** The agents there is code for, and `flow:<name>` of flows: an examination tells of work for others. Default: nobody says. */
  readonly agents?: readonly string[]
}

/** Tells whether an operator sent a request. */
export type IsOperator = (request: Request) => boolean | Promise<boolean>

/** Tells who sent a request. Null or undefined: nobody, and it is refused. */
export type Authenticate = (request: Request) => Scope | null | undefined | Promise<Scope | null | undefined>

/** `scope` is null when the request was not authenticated, and for routes of operators, who act as nobody. */
export type RateLimit = (asked: {
  readonly request: Request
  readonly scope: Scope | null
  readonly route: string
}) => RateVerdict | Promise<RateVerdict>

/** Whether a request may pass, and if not, when to try again. */
export type RateVerdict = { readonly allowed: true } | { readonly allowed: false; readonly retryAfterMs: number }

/** What a request, and a live stream, may take of this server. */
export type Limits = {
  /** Of a body that is JSON. What an operator imports may be longer. */
  readonly bodyBytes: number
  /** How long such a body may take to come. */
  readonly bodyMs: number
  readonly headerBytes: number
  readonly urlBytes: number
  /** How deeply JSON may be nested. */
  readonly depth: number
  /**
   * Of an answer that shows a log, a list or an audit: what does not fit is on the next page, and says so. A single event is sent whole, whatever this says. A
   * view or a snapshot of a live stream is made of about a quarter of it, because it holds what it shows several times.
   */
  readonly answerBytes: number
  /** Of all such answers together that are being read, or that clients have not taken yet. Others wait; who takes nothing is cut off for them. */
  readonly unsentBytes: number
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
  /**
   * How long a client of `serve` may take nothing of what is sent to it, and an operator bring nothing of an import, before it is cut off. What moves
   * is not, however slow and however long.
   */
  readonly stallMs: number
  /** Exports, imports and other work of operators at once. */
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

/** With every default written in. */
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
    upkeep: options.upkeep ? { ...options.upkeep, isOperator: isOperatorOf(options.upkeep) } : null,
  }
}

/** A token is enough; without one, `isOperator` says. */
function isOperatorOf({ isOperator = () => false, operatorToken }: UpkeepOptions): IsOperator {
  if (operatorToken === undefined) return isOperator
  return (request) => isSameSecret(operatorOrBearerToken(request) ?? '', operatorToken) || isOperator(request)
}
