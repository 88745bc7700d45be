import type { Json, JsonObject } from '../../src/base/json.ts'
import type { SeededRandom } from '../faults/harness/seeded-random.ts'
import { formats } from './formatted.ts'
import { randomPattern } from './random-pattern.ts'
import { keys, randomValue } from './random-value.ts'

const types = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object', 'string', 'array', 'object']
const definitions = ['x', 'y', 'z']
const references = [
  ...definitions.map((name) => `#/$defs/${name}`),
  '#',
  '#/$defs/x',
  '#marked',
  'https://test.example/other#/$defs/w',
]

/** A schema of the keywords there are, with definitions that refer to each other. */
export function randomSchema(random: SeededRandom): JsonObject {
  const defs: Record<string, Json> = Object.fromEntries(definitions.map((name) => [name, schema(random, 2)]))
  defs['marked'] = { $anchor: 'marked', ...objectSchema(random, 1) }
  defs['other'] = { $id: 'https://test.example/other', $defs: { w: schema(random, 1) }, ...objectSchema(random, 1) }
  const draft = random.chance(0.25) ? { $schema: 'http://json-schema.org/draft-07/schema#' } : {}
  return { ...draft, ...objectSchema(random, 3), $defs: defs }
}

function schema(random: SeededRandom, depth: number): JsonObject | boolean {
  return random.chance(0.1) ? random.chance(0.6) : objectSchema(random, depth)
}

function objectSchema(random: SeededRandom, depth: number): JsonObject {
  const made: Record<string, Json> = {}
  const count = random.int(0, depth > 0 ? 4 : 2)
  for (let n = 0; n < count; n++) Object.assign(made, keyword(random, depth))
  return made
}

function keyword(random: SeededRandom, depth: number): JsonObject {
  const group = random.next()
  if (group < 0.25 || depth === 0) return random.pick(plain)(random)
  if (group < 0.4) return random.pick(logic)(random, depth - 1)
  if (group < 0.7) return random.pick(objects)(random, depth - 1)
  return random.pick(arrays)(random, depth - 1)
}

type Make = (random: SeededRandom, depth: number) => JsonObject

const few = (random: SeededRandom) => random.int(0, 3)
const schemas = (random: SeededRandom, depth: number, least = 1) =>
  Array.from({ length: random.int(least, 3) }, () => schema(random, depth))
const map = (random: SeededRandom, make: () => Json) =>
  Object.fromEntries(Array.from({ length: random.int(0, 3) }, () => [random.pick(keys.slice(0, 5)), make()]))
const names = (random: SeededRandom) => Array.from({ length: random.int(0, 2) }, () => random.pick(keys))

const plain: readonly ((random: SeededRandom) => JsonObject)[] = [
  (random) => ({ type: random.chance(0.8) ? random.pick(types) : [random.pick(types), random.pick(types)] }),
  (random) => ({ type: random.pick(types) }),
  (random) => ({ const: randomValue(random, 2) }),
  (random) => ({ enum: Array.from({ length: random.int(0, 4) }, () => randomValue(random, 2)) }),
  (random) => ({ minimum: random.pick([0, 1, 2.5, -1]) }),
  (random) => ({ maximum: random.pick([0, 1, 2.5, 7]) }),
  (random) => ({ exclusiveMinimum: few(random), exclusiveMaximum: random.int(1, 9) }),
  (random) => ({ multipleOf: random.pick([1, 2, 0.1, 0.5, 3, 1e-7, 1e21]) }),
  (random) => ({ minLength: few(random) }),
  (random) => ({ maxLength: few(random) }),
  (random) => ({ pattern: randomPattern(random) }),
  (random) => ({ format: random.pick(formats) }),
  (random) => ({ format: random.pick(formats), type: 'string' }),
]

const logic: readonly Make[] = [
  (random, depth) => ({ not: schema(random, depth) }),
  (random, depth) => ({ anyOf: schemas(random, depth) }),
  (random, depth) => ({ allOf: schemas(random, depth) }),
  (random, depth) => ({ oneOf: schemas(random, depth) }),
  (random, depth) =>
    Object.fromEntries(
      ['if', 'then', 'else']
        .filter((keyword) => keyword === 'if' || random.chance(0.6))
        .map((keyword) => [keyword, schema(random, depth)]),
    ),
  (random) => ({ $ref: random.pick(references) }),
  (random) => ({ $ref: random.pick(references) }),
]

const objects: readonly Make[] = [
  (random, depth) => ({ properties: map(random, () => schema(random, depth)) }),
  (random, depth) => ({ type: 'object', properties: map(random, () => schema(random, depth)) }),
  (random, depth) => ({
    patternProperties: Object.fromEntries(
      Array.from({ length: random.int(1, 2) }, () => [randomPattern(random), schema(random, depth)]),
    ),
  }),
  (random, depth) => ({ additionalProperties: schema(random, depth) }),
  (random, depth) => ({ unevaluatedProperties: schema(random, depth) }),
  () => ({ unevaluatedProperties: false }),
  (random, depth) => ({ propertyNames: schema(random, depth) }),
  (random) => ({ required: names(random) }),
  (random) => ({ minProperties: few(random) }),
  (random) => ({ maxProperties: few(random) }),
  (random) => ({ dependentRequired: map(random, () => names(random)) }),
  (random, depth) => ({ dependentSchemas: map(random, () => schema(random, depth)) }),
  (random, depth) => ({
    dependencies: map(random, () => (random.chance(0.5) ? names(random) : schema(random, depth))),
  }),
]

const arrays: readonly Make[] = [
  (random, depth) => ({ items: schema(random, depth) }),
  (random, depth) => ({ type: 'array', items: schema(random, depth) }),
  (random, depth) => ({ items: schemas(random, depth, 0), additionalItems: schema(random, depth) }),
  (random, depth) => ({ prefixItems: schemas(random, depth, 0) }),
  (random, depth) => ({ unevaluatedItems: schema(random, depth) }),
  () => ({ unevaluatedItems: false }),
  (random, depth) => ({ contains: schema(random, depth) }),
  (random, depth) => ({ contains: schema(random, depth), minContains: few(random), maxContains: few(random) }),
  (random) => ({ minItems: few(random) }),
  (random) => ({ maxItems: few(random) }),
  (random) => ({ uniqueItems: random.chance(0.9) }),
]
