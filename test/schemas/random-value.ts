import type { Json, JsonObject } from '../../src/base/json.ts'
import type { SeededRandom } from '../faults/harness/seeded-random.ts'
import { formatted } from './formatted.ts'

export const keys = ['a', 'b', 'ab', 'c', '1', '__proto__', 'é', '']

const numbers = [0, -0, 1, 2, 3, 7, 0.1, 0.3, 1.5, -1, -2.5, 1e21, 1e-7, 123456789, 5e-324]
const texts = ['', 'a', 'b', 'ab', 'abc', 'A1', '12', '😀', 'é', ' ', 'a b', '\ud83d', 'aaaaaaaaaa']
/** Any JSON, of few letters, so that schemas and values meet. */
export function randomValue(random: SeededRandom, depth = 3): Json {
  const kind = random.int(0, depth > 0 ? 7 : 5)
  switch (kind) {
    case 0:
      return null
    case 1:
      return random.chance(0.5)
    case 2:
      return random.pick(numbers)
    case 3:
      return random.pick(texts)
    case 4:
      return random.pick(formatted)
    case 5:
      return random.int(-3, 12)
    case 6:
      return Array.from({ length: random.int(0, 4) }, () => randomValue(random, depth - 1))
    default:
      return objectOf(
        Array.from({ length: random.int(0, 4) }, () => [random.pick(keys), randomValue(random, depth - 1)]),
      )
  }
}

/** A value that may well fit: it follows the schema here and there. */
export function valueFor(schema: JsonObject | boolean, random: SeededRandom, depth = 4): Json {
  if (typeof schema === 'boolean' || depth <= 0 || random.chance(0.06)) return randomValue(random, depth)
  if ('const' in schema) return schema['const'] as Json
  const values = schema['enum'] as readonly Json[] | undefined
  if (values && values.length > 0) return random.pick(values)
  const inner = ['anyOf', 'allOf', 'oneOf'].flatMap((keyword) => (schema[keyword] ?? []) as JsonObject[])
  if (inner.length > 0 && random.chance(0.5)) return valueFor(random.pick(inner), random, depth - 1)
  const type = schema['type'] ?? guessedType(schema)
  switch (Array.isArray(type) ? random.pick(type) : type) {
    case 'object':
      return objectFor(schema, random, depth)
    case 'array':
      return arrayFor(schema, random, depth)
    case 'string':
      return random.pick(typeof schema['format'] === 'string' ? formatted : texts)
    case 'number':
      return random.pick(numbers)
    case 'integer':
      return random.int(-2, 6)
    case 'boolean':
      return random.chance(0.5)
    case 'null':
      return null
    default:
      return randomValue(random, depth - 1)
  }
}

function guessedType(schema: JsonObject): string | undefined {
  const names = Object.keys(schema).join()
  if (/ropert|required|depend/i.test(names)) return 'object'
  if (/items|contains/i.test(names)) return 'array'
  if (/length|pattern|format/i.test(names)) return 'string'
  return /minimum|maximum|multiple/i.test(names) ? 'number' : undefined
}

function objectFor(schema: JsonObject, random: SeededRandom, depth: number): Json {
  const properties = Object.entries((schema['properties'] ?? {}) as { [key: string]: JsonObject })
  const required = (schema['required'] ?? []) as readonly string[]
  const members = properties
    .filter(([key]) => required.includes(key) || random.chance(0.7))
    .map(([key, member]): [string, Json] => [key, valueFor(member, random, depth - 1)])
  const more = Array.from({ length: random.int(0, 2) }, (): [string, Json] => [
    random.pick(keys),
    randomValue(random, 1),
  ])
  const missing = required.map((key): [string, Json] => [key, randomValue(random, 1)])
  return objectOf([...more, ...missing, ...members])
}

function arrayFor(schema: JsonObject, random: SeededRandom, depth: number): Json {
  const items = schema['items']
  const listed = (Array.isArray(items) ? items : (schema['prefixItems'] ?? [])) as readonly JsonObject[]
  const rest = (Array.isArray(items) ? {} : (items ?? schema['contains'] ?? {})) as JsonObject
  return Array.from({ length: random.int(0, 4) }, (_, index) => valueFor(listed[index] ?? rest, random, depth - 1))
}

/** `__proto__` is a key like others, as it is in JSON. */
function objectOf(members: readonly [string, Json][]): JsonObject {
  return JSON.parse(`{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`)
}
