import { PerdureError } from '../base/errors/perdure-error.ts'
import { readArgument, shown } from '../base/errors/read-options.ts'
import { RemoteError, type RemoteProblem, ServerUnreachableError } from '../base/errors/server-errors.ts'
import { InvalidArgumentError, InvalidIdError } from '../base/errors/store-errors.ts'
import type { Json } from '../base/json.ts'

/** Where the server is, and how to come in. */
export type ClientOptions = {
  /** Where the server is, with its base path, as in 'https://app.example.com/api/agents'. */
  readonly url: string
  /** Sent as `authorization: Bearer`, never in a URL. A function is asked before each request. */
  readonly token?: string | (() => string | null | Promise<string | null>)
  /** Of an operator of the server, beside whoever acts: sent as `perdure-operator: Bearer`. Shows what only operators may read. Default: none. */
  readonly operatorToken?: string | (() => string | null | Promise<string | null>)
  readonly headers?: Readonly<Record<string, string>>
  /** Default: that of the platform. */
  readonly fetch?: typeof fetch
}

export type Ask = {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly query?: object
  /** Puts the body together from what the caller gave, whose getters may throw. */
  readonly body?: () => unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Asks the server. Rejects with `RemoteError` when it refuses, with `ServerUnreachableError` when it does not answer. */
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
    // A `fetch` that asks routes of this process: the error is not about reaching them.
    if (PerdureError.isInstance(cause)) throw cause
    throw new ServerUnreachableError(problemOf(cause), { cause })
  }
  if (!response.ok) throw await errorOf(response)
  return response
}

/** An empty one is a mistake, and is not sent as if there were none. */
async function tokenOf(name: string, given: ClientOptions['token']): Promise<string | null> {
  const token = typeof given === 'function' ? await given() : (given ?? null)
  if (token !== null && typeof token !== 'string') throw new InvalidArgumentError(name, 'must be a string')
  if (token === '') throw new InvalidArgumentError(name, 'must not be empty; leave it out where there is none')
  return token
}

function urlOf(server: string, path: string): URL {
  const address = server.replace(/\/+$/, '') + path
  if (!URL.canParse(address)) throw new InvalidArgumentError('url', `is '${shown(server)}', which is no URL`)
  return new URL(address)
}

/** Here, because `fetch` would tell of it with the secret. */
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
    throw new ServerUnreachableError('its answer broke off or is not JSON', { cause })
  }
}

/** Node says only that fetching failed, and why in the cause. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message = '', code = '' } = Object(error.cause) as { message?: string; code?: string }
  return message || code || error.message
}

/** What a server refused with; unreachable when it was something else that answered. */
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

/** A part of a path. Throws for what no URL can carry, and for dots, which a URL takes for steps of its own. */
export function pathPart(name: string, value: unknown): string {
  if (typeof value !== 'string') throw new InvalidIdError(name, `is ${shown(value)}, not a string`)
  if (value === '' || value === '.' || value === '..') throw new InvalidIdError(name, `is '${value}'`)
  if (!value.isWellFormed()) throw new InvalidIdError(name, 'has a lone surrogate')
  return encodeURIComponent(value)
}

/** Options as they were given; an empty object where there are none. What is not an object has no members to send. */
export function givenOptions<T extends object>(name: string, given: T | undefined): T {
  if (given === undefined) return {} as T
  if (typeof given === 'object' && given !== null) return given
  throw new InvalidArgumentError(name, `must be an object, not ${shown(given)}`)
}

/** The JSON of a body. `make` puts it together from what the caller gave. */
function jsonBody(make: () => unknown): string {
  return readArgument('request', () => JSON.stringify(make() ?? {}))
}

/** Adds to a URL what was asked for: numbers and text, as they are. */
function setQuery(url: URL, query: object): void {
  for (const [name, value] of readArgument('query', () => Object.entries(query))) {
    if (value === undefined) continue
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new InvalidArgumentError(name, `must be a number or a string, not ${shown(value)}`)
    }
    url.searchParams.set(name, String(value))
  }
}
