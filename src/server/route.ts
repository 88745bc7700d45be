import { InvalidRequestError } from '../base/errors/server-errors.ts'
import type { JsonObject } from '../base/json.ts'
import type { JsonSchema } from '../define/schema.ts'
import { validate } from '../define/validate.ts'
import type { Readiness } from '../runtime/readiness.ts'
import type { Verbs } from '../runtime/runtime.ts'
import type { Disclosure } from '../view/disclose.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { Feeds } from './live/feeds.ts'
import type { ServerSettings } from './server-options.ts'
import type { UiTurns } from './ui/ui-turns.ts'
import type { MaintenanceJobs } from './upkeep/stream-lines.ts'

/** One operation of the server. The server serves, documents and tests exactly the table of routes. */
export type Route = {
  /** Unique. The operationId in the OpenAPI document. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** For example '/conversations/:id'. */
  readonly path: string
  readonly summary: string
  /** Object schemas. Unknown members are refused. Query values are converted to numbers where the schema says so. */
  readonly query?: JsonObject
  readonly body?: JsonObject
  /** The body is JSON lines of any length. The route reads them as they arrive. */
  readonly takesLines?: boolean
  /** The response on success. */
  readonly answer: { readonly status: number; readonly description: string; readonly type?: string }
  /** Waits for an event before it responds. Must not reserve memory for a large response while it waits. */
  readonly waits?: boolean
  /** Needs no authentication. Must not return anything that belongs to a tenant. */
  readonly isPublic?: boolean
  /** For operators of the whole store. Served only with the option `upkeep`, and without a scope. */
  readonly isForOperators?: boolean
  /** Returns prompts: for operators, and for callers that `showPrompts` allows. */
  readonly readsPrompts?: boolean
  handle(call: RouteCall): Promise<Response>
}

export type RouteCall = {
  /** Act with the scope of the caller. Must not be used by public routes or operator routes. */
  readonly verbs: Verbs
  /** What `verbs` disclose. Callers share a live feed only if it is the same for both. */
  readonly disclosure: Disclosure
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  readonly request: Request
  readonly server: ServerContext
}

export type ServerContext = {
  readonly settings: ServerSettings
  readonly feeds: Feeds
  readonly uiTurns: UiTurns
  readonly maintenanceJobs: MaintenanceJobs
  readonly byteBudget: ByteBudget
  readonly routes: readonly Route[]
  readiness(): Promise<Readiness>
}

/** The schema of an object with these members and no others. */
export function object(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false }
}

export const text = { type: 'string', minLength: 1 }
export const searched = {
  ...text,
  maxLength: 200,
  description: 'Only those with this text in their title or id; ASCII letters match in either case.',
}
export const anything: JsonObject = { description: 'Any JSON value.' }
export const seq = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
export const round = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Default: 1.' }
export const emptyQuery = object({})
export const emptyBody = object({})

export function limit(most: number): JsonObject {
  return { type: 'integer', minimum: 1, maximum: most }
}

/** Checks a body against the schema of its route. */
export async function checkBody(schema: JsonObject, body: unknown): Promise<unknown> {
  return checked('body', schema, body)
}

/** Reads the query of a URL, with numbers where the schema wants them. A repeated name is refused. */
export async function readQuery(schema: JsonObject, url: URL): Promise<Readonly<Record<string, unknown>>> {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>
  const query: Record<string, unknown> = Object.create(null)
  for (const [name, text] of url.searchParams) {
    if (name in query) throw new InvalidRequestError('query', `${name}: it appears twice`)
    const isNumber = Object.hasOwn(properties, name) && properties[name]?.['type'] === 'integer'
    query[name] = isNumber && /^\d{1,15}$/.test(text) ? Number(text) : text
  }
  return (await checked('query', schema, { ...query })) as Readonly<Record<string, unknown>>
}

async function checked(what: string, schema: JsonObject, value: unknown): Promise<unknown> {
  const verdict = await validate(schema as JsonSchema, value)
  if (!verdict.ok) throw new InvalidRequestError(what, verdict.issues)
  return value
}
