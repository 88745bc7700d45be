import { InvalidRequestError } from '../base/errors/server-errors.ts'
import type { JsonObject } from '../base/json.ts'
import type { JsonSchema } from '../define/schema.ts'
import { validate } from '../define/validate.ts'
import type { Readiness } from '../runtime/readiness.ts'
import type { Verbs } from '../runtime/runtime.ts'
import type { Disclosure } from '../view/disclose.ts'
import type { Feeds } from './live/feeds.ts'
import type { Room } from './room.ts'
import type { ServerSettings } from './server-options.ts'
import type { UiTurns } from './ui/ui-turns.ts'
import type { MaintenanceJobs } from './upkeep/stream-lines.ts'

/** One thing the server does: how it is asked for, and what happens. The table of them is what is served, documented and tested. */
export type Route = {
  /** Unique; the operationId of the OpenAPI document. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** As in '/conversations/:id'. */
  readonly path: string
  readonly summary: string
  /** Object schemas: what is not in them is refused. Texts of a query become numbers where its schema says so. */
  readonly query?: JsonObject
  readonly body?: JsonObject
  /** The body is JSON lines, of any length, that the route reads by itself as they come. */
  readonly takesLines?: boolean
  /** What an answer that went well looks like. */
  readonly answer: { readonly status: number; readonly description: string; readonly type?: string }
  /** Waits for something to happen before it answers, and must not hold room for a large answer meanwhile. */
  readonly waits?: boolean
  /** Needs no identity. Must tell nothing about anybody. */
  readonly isPublic?: boolean
  /** For whoever looks after the whole store; not there unless the server is given `upkeep`. Acts as nobody. */
  readonly isForOperators?: boolean
  /** Shows what models were given: for operators, and for whoever `showPrompts` lets. */
  readonly readsPrompts?: boolean
  handle(call: RouteCall): Promise<Response>
}

export type RouteCall = {
  /** Of whoever sent the request. Must not be used by public routes, nor by those for operators. */
  readonly verbs: Verbs
  /** What they disclose. Streams that are shared are shared by those who are told the same. */
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
  readonly works: MaintenanceJobs
  readonly room: Room
  readonly routes: readonly Route[]
  readiness(): Promise<Readiness>
}

/** An object that has these members and no others. */
export function object(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false }
}

export const text = { type: 'string', minLength: 1 }
export const anything: JsonObject = { description: 'Any JSON value.' }
export const seq = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
export const round = { type: 'integer', minimum: 1, maximum: 1_000_000, description: 'Default: 1.' }
export const noQuery = object({})
export const noBody = object({})

export function limit(most: number): JsonObject {
  return { type: 'integer', minimum: 1, maximum: most }
}

/** Checks a body against the schema its route gives. */
export async function checkBody(schema: JsonObject, body: unknown): Promise<unknown> {
  return checked('body', schema, body)
}

/** The query of a URL with numbers where its schema wants them. A name that comes twice is refused. */
export async function readQuery(schema: JsonObject, url: URL): Promise<Readonly<Record<string, unknown>>> {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>
  const query: Record<string, unknown> = Object.create(null)
  for (const [name, text] of url.searchParams) {
    if (name in query) throw new InvalidRequestError('query', `${name}: it is given twice`)
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
