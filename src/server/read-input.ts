import { InvalidRequestError } from '../base/errors/server-errors.ts'
import type { JsonObject } from '../base/json.ts'
import type { JsonSchema } from '../define/schema.ts'
import { validate } from '../define/validate.ts'

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
