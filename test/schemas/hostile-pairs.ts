import type { Json, JsonObject } from '../../src/base/json.ts'
import type { SeededRandom } from '../faults/harness/seeded-random.ts'

type Hostile = { readonly kind: string; readonly schema: JsonObject | boolean; readonly value: Json }
type Make = (random: SeededRandom) => { readonly schema: JsonObject | boolean; readonly value: Json }

/** A pair that is made to cost as much as it can. */
export function hostilePair(random: SeededRandom): Hostile {
  const [kind, make] = random.pick(Object.entries(kinds))
  return { kind, ...make(random) }
}

/** `$defs` of which each applies the next one twice: the last is applied 2^levels times. */
export function doubling(levels: number, apply: 'allOf' | 'anyOf' | 'oneOf' = 'allOf'): JsonObject {
  const twice = (n: number) => ({ [apply]: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] })
  const defs = Object.fromEntries(Array.from({ length: levels }, (_, n) => [`d${n}`, twice(n)]))
  const last = apply === 'allOf' ? {} : { type: 'null' }
  return { $ref: '#/$defs/d0', $defs: { ...defs, [`d${levels}`]: last } }
}

/** The patterns that others tell of, and some that are only large. */
const patterns = [
  ...[
    '^(a+)+$',
    '^(a|a)*$',
    '^(a|aa)+$',
    '(.*a){20}$',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '(?:a?){30}a{30}',
    '^(?=(a+)+$)a',
    '(?<=(a+)+)b',
  ],
  ...[
    '(a{1,100}){1,100}$',
    '(?:(?:a{0,40}){0,40}){0,40}$',
    '[\\p{L}\\p{N}]{300}$',
    '(?:\\w*\\s*)*$',
    '(x+x+)+y',
    '(?:a|b)*a(?:a|b){500}$',
  ],
  ...[
    '(?:.*){50}=',
    '(?:(?:(?:(?:a*)*)*)*)*b',
    '(?!(?!(?!(?!a*b))))',
    `${'(?:'.repeat(90)}a${')*'.repeat(90)}b`,
    'a{1000}{1000}',
    '(?:){1000000000}',
  ],
  ...[
    `(?:${'a|'.repeat(2000)}b)*c`,
    `[${'a-z'.repeat(5000)}]+!`,
    Array.from({ length: 60 }, (_, n) => `\\p{L}${n}`).join('|'),
  ],
]

function long(random: SeededRandom): string {
  const unit = random.pick(['a', 'ab', 'x', 'a ', 'é', '😀', 'aB', '\ud83d', '1.'])
  return unit.repeat(Math.floor(10 ** (1 + random.next() * 5.2) / unit.length)) + random.pick(['!', '', 'b', '='])
}

function deepList(levels: number): Json {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as Json
}

function deepObject(levels: number): Json {
  return JSON.parse('{"a":'.repeat(levels) + '1' + '}'.repeat(levels)) as Json
}

/** A tree of which each node has two below it. */
function tree(levels: number): Json {
  let node: Json = 1
  for (let n = 0; n < levels; n++) node = { l: node, r: node }
  return node
}

const list = <T>(length: number, item: (n: number) => T): T[] => Array.from({ length }, (_, n) => item(n))
const record = (length: number, member: (n: number) => Json, key = (n: number) => `k${n}`): JsonObject =>
  Object.fromEntries(list(length, (n) => [key(n), member(n)]))
const upTo = (random: SeededRandom, most: number): number => Math.floor(most ** random.next())

const kinds: Readonly<Record<string, Make>> = {
  'doubling refs': (random) => ({
    schema: doubling(random.int(5, 60), random.pick(['allOf', 'anyOf', 'oneOf'])),
    value: random.pick<Json>([1, 'x', {}, []]),
  }),
  'doubling inside': (random) => ({
    schema: { items: doubling(random.int(3, 18)), $defs: doubling(12)['$defs']! },
    value: list(upTo(random, 50_000), () => 1),
  }),
  'self reference': (random) => ({
    schema: random.pick<JsonObject>([
      { $ref: '#' },
      { allOf: [{ $ref: '#' }] },
      { not: { $ref: '#' } },
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } } },
      { dependentSchemas: { a: { $ref: '#' } } },
      { if: { $ref: '#' } },
    ]),
    value: random.pick<Json>([1, { a: 1 }, [[]]]),
  }),
  'recursion over a tree': (random) => ({
    schema: {
      anyOf: [
        { type: 'number' },
        ...list(random.int(1, 4), () => ({ type: 'object', properties: { l: { $ref: '#' }, r: { $ref: '#' } } })),
        { not: { properties: { l: { $ref: '#' } } } },
      ],
      ...(random.chance(0.5) ? { unevaluatedProperties: false } : {}),
    },
    value: tree(random.int(4, 14)),
  }),
  'a pattern': (random) => ({ schema: { pattern: random.pick(patterns) }, value: long(random) }),
  'patterns of names': (random) => ({
    schema: {
      patternProperties: record(
        upTo(random, 500),
        () => true,
        (n) => `${random.pick(patterns)}|${n}`,
      ),
      propertyNames: { pattern: random.pick(patterns) },
    },
    value: record(
      upTo(random, 3_000),
      () => 1,
      (n) => 'a'.repeat(n % 100),
    ),
  }),
  'a format': (random) => ({
    schema: {
      format: random.pick([
        'uri',
        'uri-reference',
        'uri-template',
        'url',
        'email',
        'hostname',
        'date-time',
        'duration',
        'ipv6',
        'regex',
        'json-pointer',
      ]),
    },
    value:
      random
        .pick(['http://', 'P', '', '"', '/', '(', '[', '{', '%41', '(?<a>)|', '\\p{L}', '\\P{Lu}'])
        .repeat(upTo(random, 5_000)) +
      long(random) +
      random.pick(['', '@', ' ', '%']),
  }),
  'a huge enum': (random) => ({
    schema: {
      items: { enum: list(upTo(random, 150_000), (n) => random.pick<Json>([n, `v${n}`, { n }, [n, { n }]])) },
    },
    value: list(upTo(random, 20_000), (n) => random.pick<Json>([n, { n }, 'v'])),
  }),
  'a huge const': (random) => {
    const value = random.chance(0.5) ? tree(random.int(5, 15)) : list(upTo(random, 100_000), (n) => ({ n }))
    return { schema: { anyOf: list(random.int(1, 30), () => ({ const: value })) }, value: [value, value] }
  },
  'unique items': (random) => ({
    schema: { uniqueItems: true, items: { uniqueItems: true } },
    value: list(upTo(random, 30_000), (n) =>
      random.pick<Json>([n, [n], { a: { b: [n] } }, 'x'.repeat(n % 500), { n, deep: tree(3) }]),
    ),
  }),
  'unique copies': (random) => ({
    schema: { uniqueItems: true },
    value: [
      list(upTo(random, 50_000), (n) => n),
      'x'.repeat(upTo(random, 2_000_000)),
      tree(random.int(4, 14)),
      deepList(random.int(1, 450)),
    ],
  }),
  'a deep schema': (random) => {
    let schema: JsonObject | boolean = true
    const wrap = random.pick<(inner: JsonObject | boolean) => JsonObject>([
      (inner) => ({ items: inner }),
      (inner) => ({ allOf: [inner] }),
      (inner) => ({ properties: { a: inner }, unevaluatedProperties: false }),
      (inner) => ({ not: inner }),
    ])
    for (let n = random.int(10, 3_000); n > 0; n--) schema = wrap(schema)
    return { schema, value: random.pick([deepList(400), deepObject(400)]) }
  },
  'a deep value': (random) => ({
    schema: random.pick<JsonObject>([
      { items: { $ref: '#' }, properties: { a: { $ref: '#' } } },
      { uniqueItems: true, enum: [[[]]] },
      { anyOf: [{ items: { $ref: '#' } }, { const: 1 }], additionalProperties: { $ref: '#' }, unevaluatedItems: false },
      {},
    ]),
    value: random.pick([deepList, deepObject])(random.int(100, 100_000)),
  }),
  'many properties': (random) => ({
    schema: {
      items: {
        properties: record(upTo(random, 5_000), () => ({ type: 'integer' })),
        required: list(upTo(random, 3_000), (n) => `k${n}`),
        additionalProperties: random.chance(0.5),
      },
    },
    value: list(upTo(random, 3_000), () => record(upTo(random, 100), (n) => n)),
  }),
  'what is left over': (random) => {
    const options = list(upTo(random, 300), (n) => ({ properties: { [`k${n}`]: true }, prefixItems: [true] }))
    const nested = { [random.pick(['anyOf', 'allOf', 'oneOf'])]: options } as JsonObject
    return {
      schema: {
        allOf: list(random.int(1, 5), () => nested),
        unevaluatedProperties: random.chance(0.5),
        unevaluatedItems: { type: 'integer' },
      },
      value: random.chance(0.5) ? record(upTo(random, 5_000), (n) => n) : list(upTo(random, 20_000), (n) => n),
    }
  },
  dependents: (random) => {
    const count = upTo(random, 2_000)
    return {
      schema: {
        dependentSchemas: record(count, (n) => ({
          required: [`k${n + 1}`],
          dependentSchemas: record(random.int(0, 5), () => ({ maxProperties: 3 })),
        })),
        dependentRequired: record(count, () => list(random.int(0, 20), (n) => `k${n}`)),
        dependencies: record(count, () => ({ minProperties: 1 })),
      },
      value: record(upTo(random, 3_000), (n) => n),
    }
  },
  contains: (random) => ({
    schema: {
      contains: { contains: { contains: { const: random.int(0, 9) } } },
      minContains: upTo(random, 1_000),
      maxContains: upTo(random, 1_000),
    },
    value: list(upTo(random, 200), () => list(upTo(random, 100), () => list(random.int(0, 20), (n) => n))),
  }),
  'many alternatives': (random) => {
    const options = list(upTo(random, 3_000), (n) => ({
      type: 'object',
      properties: { kind: { const: `kind${n}` }, x: { type: 'string', maxLength: 3 } },
      required: ['kind'],
    }))
    return {
      schema: { items: { oneOf: options } },
      value: list(upTo(random, 5_000), (n) => ({ kind: `kind${n % 7}`, x: 1 })),
    }
  },
  'odd numbers': (random) => ({
    schema: {
      items: { multipleOf: random.pick([5e-324, 1e-300, 1e308, 0.1, 3]), minimum: -1e308, exclusiveMaximum: 1e308 },
    },
    value: list(upTo(random, 50_000), () => random.pick([1e308, 5e-324, 0.1, 123456789.123, -0])),
  }),
  'long texts': (random) => {
    const text = long(random)
    return {
      schema: { items: { minLength: 5, maxLength: upTo(random, 1e6), enum: [text, `${text}!`], format: 'uri' } },
      value: list(random.int(1, 60), () => text),
    }
  },
}
