import { type ErrorCode, errorCodes } from './codes.ts'
import { PerdureError } from './perdure-error.ts'

export class InvalidRequestError extends PerdureError {
  constructor(what: string, issues: string) {
    super('invalid_request', `The ${what} of the request is not valid: ${issues}. Correct it and send it again.`)
  }
}

export class UnauthenticatedError extends PerdureError {
  constructor() {
    super('unauthenticated', 'The request does not say who you are. Pass valid credentials in a header.')
  }
}

/** The server has `turnOptions: false`. Nothing was sent. */
export class TurnOptionsNotAllowedError extends PerdureError {
  constructor(names: readonly string[]) {
    const listed = names.map((name) => `'${name}'`).join(', ')
    super(
      'turn_options_not_allowed',
      `This server accepts no turn options, and the message has ${listed}. Send it without them.`,
    )
  }
}

/** A tenant's user is not an operator, whatever rights the user has there. */
export class OperatorOnlyError extends PerdureError {
  constructor(what = 'This route is') {
    super(
      'operator_only',
      `${what} for operators of the whole store, and the request has no operator credentials. Send it with the credentials of an operator.`,
    )
  }
}

const mostListed = 20

/** A run of AG-UI answered some of the interrupts that are open. Nothing was answered. */
export class ResumeIncompleteError extends PerdureError {
  readonly missing: readonly string[]

  constructor(id: string, missing: readonly string[]) {
    const more = missing.length > mostListed ? `, and ${missing.length - mostListed} more` : ''
    super(
      'resume_incomplete',
      `The run leaves interrupts of '${id}' without an answer: ${missing.slice(0, mostListed).join(', ')}${more}. Nothing was answered. Send one run that answers or cancels every one of them.`,
    )
    this.missing = missing
  }
}

/** The server does not have `callerSchemas`. */
export class SchemaNotAllowedError extends PerdureError {
  constructor(name: string) {
    super(
      'schema_not_allowed',
      `The request has its own schema as '${name}', which this server does not accept. Send it without, or pass callerSchemas: true to the server.`,
    )
  }
}

export class HostNotAllowedError extends PerdureError {
  constructor() {
    super(
      'host_not_allowed',
      'The request was addressed to a host that this server does not answer for. Use its own address, or pass allowedHosts.',
    )
  }
}

export class OriginNotAllowedError extends PerdureError {
  constructor() {
    super(
      'origin_not_allowed',
      'The request comes from a page of another origin. Open the page from this server, or pass allowedOrigins.',
    )
  }
}

export class NotReadyError extends PerdureError {
  constructor(store: string, worker: string) {
    super(
      'not_ready',
      `This process is not ready (store: ${store}, worker: ${worker}). Send requests to another process, and see the log of this one for the reason.`,
      { retryable: true },
    )
  }
}

/** The option `studio` of a server needs the built page. The package contains it; a clone builds it. */
export class StudioNotBuiltError extends PerdureError {
  constructor() {
    super(
      'studio_not_built',
      'The studio is not built: its files are missing. Run npm run build:studio in a clone, or install the package again.',
    )
  }
}

/** The code of an address that `perdure serve` or `perdure studio` printed. */
export class SignInRefusedError extends PerdureError {
  constructor(why: 'unknown' | 'used' | 'expired') {
    super(
      'sign_in_refused',
      `${refusedCodes[why]} Run perdure studio where the server runs, and open the address that it prints.`,
    )
  }
}

const refusedCodes = {
  unknown: 'The server does not know this sign-in code. It may have been started again since.',
  used: 'This sign-in code was used before, and a code works once.',
  expired: 'This sign-in code is older than ten minutes.',
}

export class RouteNotFoundError extends PerdureError {
  constructor() {
    super('route_not_found', 'There is no route at this path. Check it against GET /openapi.json.')
  }
}

export class FileNotFoundError extends PerdureError {
  constructor(id: string) {
    super('file_not_found', `There is no such file in '${id}'. Use a URL from a message of the conversation.`)
  }
}

export class MethodNotAllowedError extends PerdureError {
  readonly allowed: readonly string[]

  constructor(allowed: readonly string[]) {
    super('method_not_allowed', `This path does not support this method. Use ${allowed.join(' or ')}.`)
    this.allowed = allowed
  }
}

export class MediaTypeError extends PerdureError {
  constructor(expected: 'application/json' | 'application/x-ndjson' = 'application/json') {
    const what = expected === 'application/json' ? 'JSON' : 'lines of JSON'
    super('media_type_refused', `The body is not declared as ${what}. Send it with content-type: ${expected}.`)
  }
}

export class RequestTimedOutError extends PerdureError {
  constructor(limitMs: number, what = 'The body of the request did not arrive') {
    super('request_timed_out', `${what} within ${limitMs} ms. Send it again, faster, or raise the server's limit.`, {
      retryable: true,
    })
  }
}

export class RequestTooLargeError extends PerdureError {
  constructor(what: string, limit: number) {
    super(
      'request_too_large',
      `The ${what} of the request is larger than ${limit} bytes. Send less, or raise the server's limit.`,
    )
  }
}

export class RateLimitedError extends PerdureError {
  readonly retryAfterMs: number

  constructor(retryAfterMs: number, problem = 'There were too many requests') {
    super('rate_limited', `${problem}. Try again in ${retryAfterMs} ms.`, { retryable: true })
    this.retryAfterMs = retryAfterMs
  }
}

/** An error without a code of its own. Its details are in the server's log, never in the response. */
export class ServerFailedError extends PerdureError {
  constructor(options: { cause?: unknown } = {}) {
    super('server_failed', 'The server failed. Try again; the reason is in its log.', {
      retryable: true,
      ...options,
    })
  }
}

/** Thrown by `perdure/client` when no server responded, or something other than a Perdure server did. */
export class ServerUnreachableError extends PerdureError {
  constructor(problem: string, options: { cause?: unknown } = {}) {
    super(
      'server_unreachable',
      `The server could not be reached: ${problem}. Check that it runs at this address, then try again.`,
      {
        retryable: true,
        ...options,
      },
    )
  }
}

/** An error response of a server, as `perdure/client` throws it. The code is the server's. */
export class RemoteError extends PerdureError {
  readonly status: number
  readonly retryAfterMs: number | null

  constructor(problem: RemoteProblem) {
    const { code, detail, status, retryable, retryAfterMs = null } = problem
    super(code in errorCodes ? (code as ErrorCode) : 'server_failed', detail, { retryable })
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

export type RemoteProblem = {
  readonly code: string
  readonly detail: string
  readonly status: number
  readonly retryable: boolean
  readonly retryAfterMs?: number | null
}
