import type { ErrorCode } from '../base/errors/codes.ts'
import { PerdureError } from '../base/errors/perdure-error.ts'
import { readArgument, shown } from '../base/errors/read-options.ts'
import { RemoteError, type RemoteProblem, ServerUnreachableError } from '../base/errors/server-errors.ts'
import { InvalidArgumentError, InvalidIdError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'

/** The server and the credentials for it. */
export type ClientOptions = {
  /** The URL of the server with its base path, such as 'https://app.example.com/api/agents'. */
  readonly url: string
  /** Sent as `authorization: Bearer`, never in a URL. A function is called before each request. */
  readonly token?: string | (() => string | null | Promise<string | null>)
  /**
   * An operator's token, sent as `perdure-operator: Bearer` next to the user's. Shows what only operators may read.
   * Default: none.
   */
  readonly operatorToken?: string | (() => string | null | Promise<string | null>)
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch
}

export type Ask = {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly query?: object
  /** Builds the body from the caller's arguments, whose getters may throw. */
  readonly body?: () => unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/**
 * Sends a request. Rejects with `RemoteError` when the server refuses it, and with `ServerUnreachableError` when no
 * server answers.
 */
export async function request(options: ClientOptions, path: string, ask: Ask = {}): Promise<Response> {
  const { method = 'GET', query = {}, body = () => ({}), signal } = ask
  const url = urlOf(options.url, path)
  setQuery(url, query)
  const token = await tokenOf('token', options.token)
  const operatorToken = await tokenOf('operatorToken', options.operatorToken)
  const headers = readArgument('headers', () => ({
    ...options.headers,
    ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(operatorToken === null ? {} : { 'perdure-operator': `Bearer ${operatorToken}` }),
    ...ask.headers,
  }))
  checkHeaders(headers)
  const init: RequestInit = { method, headers, ...(signal ? { signal } : {}) }
  if (method === 'POST') init.body = jsonBody(body)
  const send = options.fetch ?? fetch
  let response: Response
  try {
    response = await send(url, init)
  } catch (cause) {
    signal?.throwIfAborted()
    // A custom `fetch` that calls a handler in this process: the error is not about the connection.
    if (PerdureError.isInstance(cause)) throw cause
    throw new ServerUnreachableError(problemOf(cause), { cause })
  }
  if (!response.ok) throw await errorOf(response)
  return response
}

/** An empty token is a mistake, and must not be treated as no token. */
async function tokenOf(name: string, given: ClientOptions['token']): Promise<string | null> {
  const token = typeof given === 'function' ? await given() : (given ?? null)
  if (token !== null && typeof token !== 'string') throw new InvalidArgumentError(name, 'must be a string')
  if (token === '') throw new InvalidArgumentError(name, 'must not be empty; leave it out where there is none')
  return token
}

function urlOf(server: string, path: string): URL {
  const address = server.replace(/\/+$/, '') + path
  if (!URL.canParse(address)) throw new InvalidArgumentError('url', `is '${shown(server)}', which is not a URL`)
  return new URL(address)
}

/** Checked here, because `fetch` would include the secret in its error. */
function checkHeaders(headers: Readonly<Record<string, string>>): void {
  try {
    new Headers(headers)
  } catch {
    throw new InvalidArgumentError('token or headers', 'have a character that no header may have, such as a line break')
  }
}

export async function requestJson<T>(options: ClientOptions, path: string, ask?: Ask): Promise<T> {
  const response = await request(options, path, ask)
  if (response.status === 204) return null as T
  try {
    return (await response.json()) as T
  } catch (cause) {
    throw new ServerUnreachableError('its response broke off or is not JSON', { cause })
  }
}

/** Node reports only 'fetch failed'; the reason is in the cause. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message = '', code = '' } = Object(error.cause) as { message?: string; code?: string }
  return message || code || error.message
}

/** The server's error, or `ServerUnreachableError` when something other than a Perdure server responded. */
export async function errorOf(response: Response): Promise<Error> {
  const text = await response.text().catch(() => '')
  const problem = parsed(text)
  if (!isProblem(problem)) return new ServerUnreachableError(`something else answered with ${response.status}`)
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new RemoteError({ ...problem, retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1000 : null })
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return null
  }
}

function isProblem(value: unknown): value is RemoteProblem {
  const { code, detail, status } = Object(value) as Partial<RemoteProblem>
  return typeof code === 'string' && typeof detail === 'string' && typeof status === 'number'
}

/** One part of a path. Throws for text that a URL cannot carry, and for dots, which are path steps. */
export function pathPart(name: string, value: unknown): string {
  if (typeof value !== 'string') throw new InvalidIdError(name, `is ${shown(value)}, not a string`)
  if (value === '' || value === '.' || value === '..') throw new InvalidIdError(name, `is '${value}'`)
  if (!value.isWellFormed()) throw new InvalidIdError(name, 'has a lone surrogate')
  return encodeURIComponent(value)
}

/** The options as given, or an empty object. Throws for anything else. */
export function givenOptions<T extends object>(name: string, given: T | undefined): T {
  if (given === undefined) return {} as T
  if (typeof given === 'object' && given !== null) return given
  throw new InvalidArgumentError(name, `must be an object, not ${shown(given)}`)
}

/** The JSON body. `make` builds it from the caller's arguments. */
function jsonBody(make: () => unknown): string {
  return readArgument('request', () => JSON.stringify(make() ?? {}))
}

/** Adds numbers and text to the query of a URL. */
function setQuery(url: URL, query: object): void {
  for (const [name, value] of readArgument('query', () => Object.entries(query))) {
    if (value === undefined) continue
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new InvalidArgumentError(name, `must be a number or a string, not ${shown(value)}`)
    }
    url.searchParams.set(name, String(value))
  }
}

/** False when there was nothing to delete, as in the runtime; on the wire that is an error with this code. */
export async function deleted(options: ClientOptions, path: string, missing: ErrorCode): Promise<boolean> {
  try {
    await requestJson(options, path, { method: 'DELETE' })
    return true
  } catch (error) {
    if (PerdureError.isInstance(error) && error.code === missing) return false
    throw error
  }
}
