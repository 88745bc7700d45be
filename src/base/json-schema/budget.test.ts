import { describe, expect, test } from 'vitest'
import { doubling } from '../../../test/schemas/hostile-pairs.ts'
import { knowsModifiers } from '../../../test/support/knows-modifiers.ts'
import type { Json, JsonObject } from '../json.ts'
import { checkOutsideSchema, checkValue } from './compile-schema.ts'
import { MalformedSchema } from './read-keyword.ts'
import { TooComplex } from './step-budget.ts'

const list = <T>(length: number, item: (n: number) => T): T[] => Array.from({ length }, (_, n) => item(n))
const record = (length: number, member: (n: number) => Json): JsonObject =>
  Object.fromEntries(list(length, (n) => [`k${n}`, member(n)]))
const nested = (levels: number): Json => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as Json

/** Applies a schema to the same value by way of many others. */
function within(levels: number, schema: JsonObject): JsonObject {
  let outer = schema
  for (let n = 0; n < levels; n++) outer = { allOf: [outer] }
  return outer
}

/** Each would take far more than it may; without a count each ends within seconds, and is seen. */
const expensive: readonly [what: string, schema: JsonObject, value: Json][] = [
  ['references that double', doubling(20), 1],
  ['references that double, as alternatives', doubling(20, 'anyOf'), 1],
  ['a reference to itself', { $ref: '#' }, 1],
  ['recursion over a deep value', { items: { $ref: '#' } }, nested(5_000)],
  ['a deep value in an enum', { enum: [[[]]] }, nested(5_000)],
  ['unique numbers', { uniqueItems: true }, list(200_000, (n) => n)],
  ['unique texts', { uniqueItems: true }, list(200_000, (n) => `text ${n}`)],
  ['unique objects', { uniqueItems: true }, list(60_000, (n) => ({ n }))],
  ['long texts that are equal', { items: { enum: ['x'.repeat(400_000)] } }, list(60, () => 'x'.repeat(400_000))],
  ['objects in an enum', { items: { enum: [{ n: 1 }] } }, list(80_000, () => ({ n: 1 }))],
  ['items', { items: { type: 'number' } }, list(600_000, (n) => n)],
  ['properties', { additionalProperties: { type: 'number' } }, record(250_000, (n) => n)],
  ['names of properties', { propertyNames: { maxLength: 9 } }, record(200_000, (n) => n)],
  [
    'required properties',
    { items: { required: list(5_000, (n) => `k${n}`) } },
    list(300, () => record(5_000, () => 1)),
  ],
  [
    'dependent properties',
    { items: { dependentRequired: { k0: list(5_000, (n) => `k${n}`) } } },
    list(300, () => record(5_000, () => 1)),
  ],
  [
    'schemas that depend',
    { items: { dependentSchemas: record(3_000, () => true) } },
    list(400, () => record(3, () => 1)),
  ],
  ['what was evaluated far above', { ...within(300, { unevaluatedProperties: true }) }, record(5_000, () => 1)],
  [
    'what is evaluated far below',
    { ...within(300, { additionalProperties: true }), unevaluatedProperties: false },
    record(5_000, () => 1),
  ],
  [
    'what is left over',
    { allOf: list(40, () => ({ additionalProperties: true })), unevaluatedProperties: false },
    record(5_000, () => 1),
  ],
  [
    'what is left over in a list',
    { allOf: list(40, () => ({ items: true })), unevaluatedItems: false },
    list(10_000, () => 1),
  ],
  ['contained items', { items: { contains: { const: 1 } } }, list(400, () => list(1_500, () => 1))],
  ['lengths', { items: { maxLength: 5_000_000 } }, list(60, () => 'é'.repeat(400_000))],
  ['formats', { items: { format: 'date-time' } }, list(60_000, () => '2024-02-29T12:00:00Z')],
  ['a format of long texts', { items: { format: 'uri' } }, list(60, () => `a:${'b'.repeat(400_000)}`)],
  ['a regular expression as a value', { format: 'regex' }, '\\p{L}'.repeat(1_000)],
  ['named groups in a value', { format: 'regex' }, '(?<a>)|'.repeat(20_000)],
  ['divisions', { items: { multipleOf: 0.1 } }, list(60_000, (n) => n / 10)],
]

test.each(expensive)(
  '%s cost steps, and more of them than there are is too complex, also by a schema of code',
  (_, schema, value) => {
    for (const origin of ['outside', 'code'] as const)
      expect(() => checkValue(schema, value, origin)).toThrow(TooComplex)
  },
)

describe('patterns of a schema from outside', () => {
  test.each([
    ['^(a+)+$', `${'a'.repeat(50)}!`, false],
    ['^(a|a)*$', `${'a'.repeat(50)}!`, false],
    ['^(?=(a+)+$)a', `${'a'.repeat(50)}!`, false],
    ['(.*a){20}$', `${'a'.repeat(50)}!`, false],
  ])('%s is answered at once', (pattern, text, fits) => {
    expect(checkValue({ pattern }, text, 'outside').fits).toBe(fits)
  })

  test.each([
    ['a pattern', { pattern: '(?:a|b)*a(?:a|b){500}$' }, 'ab'.repeat(20_000)],
    ['patterns of properties', { patternProperties: { '(?:a|b)*a(?:a|b){50}$': true } }, record(20_000, () => 1)],
  ])('%s cost steps by their size and the text', (_, schema, value) => {
    expect(() => checkValue(schema as JsonObject, value, 'outside')).toThrow(TooComplex)
  })
})

test('an object of a size that models write is far from the limit', () => {
  const row = {
    type: 'object',
    properties: record(10, () => ({ type: 'integer' })),
    required: ['k1'],
    additionalProperties: false,
  }
  expect(
    checkValue(
      { items: row },
      list(10_000, () => record(10, (n) => n)),
      'outside',
    ),
  ).toEqual({ fits: true })
  expect(
    checkValue(
      { items: { type: 'number' } },
      list(250_000, (n) => n),
      'outside',
    ),
  ).toEqual({ fits: true })
  const options = list(30, (n) => ({ properties: { kind: { const: `kind${n}` } }, required: ['kind'] }))
  const kinds = list(2_000, (n) => ({ kind: `kind${n % 30}` }))
  expect(checkValue({ items: { anyOf: options } }, kinds, 'outside')).toEqual({ fits: true })
})

test('what is wrong is told as far as its steps go', () => {
  const verdict = checkValue(
    { items: { enum: [{ a: 1 }] } },
    list(20_000, () => ({ b: 2 })),
    'outside',
  )
  expect(verdict).toMatchObject({
    fits: false,
    issues: expect.stringMatching(/^\[0\]: must be \{"a":1\}; .*; and \d+ more$/),
  })
})

describe('a schema from outside is refused before there is a value', () => {
  test.each<[string, JsonObject]>([
    ['doubles forty times', doubling(40)],
    ['applies itself', { allOf: [{ $ref: '#' }] }],
    [
      'applies itself by way of another',
      { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } },
    ],
    ['has a back reference', { properties: { a: { pattern: '(a)\\1' } } }],
    ['has a named back reference', { pattern: '(?<x>a)\\k<x>' }],
    ['repeats without measure', { pattern: '(?:a{1000}){1000}' }],
    ['repeats nothing without measure', { pattern: '(?:){1000000000}' }],
    ['has groups without end', { pattern: '(?:'.repeat(200) + 'a' + ')'.repeat(200) }],
    ['has many Unicode properties', { pattern: list(100, (n) => `\\p{L}${n}`).join('|') }],
    ['has a huge enum', { enum: list(150_000, (n) => n) }],
    ['has a huge const', { const: list(50_000, (n) => ({ n })) }],
    ['has too many schemas', { properties: record(10_000, () => ({ type: 'string' })) }],
    ['has too many required properties', { required: list(150_000, (n) => `k${n}`) }],
    ['has too many addresses', { $ref: 'x', $defs: record(5_000, (n) => ({ $id: `https://x.example/${n}` })) }],
  ])('when it %s', (_, schema) => {
    expect(() => checkOutsideSchema(schema)).toThrow(TooComplex)
  })

  test.each<[string, JsonObject]>([
    ['refers to nothing', { items: { $ref: '#/$defs/a' } }],
    ['refers to another place', { $ref: 'https://json-schema.org/draft/2020-12/schema' }],
    ['is malformed', { properties: { a: { required: true } } }],
  ])('when it %s', (_, schema) => {
    expect(() => checkOutsideSchema(schema)).toThrow(MalformedSchema)
  })

  test.each<[string, JsonObject]>([
    ['recursive', { properties: { below: { items: { $ref: '#' } } } }],
    ['recursive by alternatives', { anyOf: [{ type: 'string' }, { items: { $ref: '#' } }] }],
    [
      'shared',
      { properties: { a: { $ref: '#/$defs/x' }, b: { $ref: '#/$defs/x' } }, $defs: { x: { type: 'string' } } },
    ],
    ['with what is not used', { $defs: { x: { pattern: '(a)\\1' } } }],
    ['with look-arounds', { pattern: '^(?=.*\\d)(?!.*\\s).{8,}$' }],
    ['with Unicode properties', { pattern: '^[\\p{L}\\p{M} ]+$' }],
    ['deep', JSON.parse('{"items":'.repeat(1_000) + 'true' + '}'.repeat(1_000))],
  ])('but not when it is %s', (_, schema) => {
    expect(() => checkOutsideSchema(schema)).not.toThrow()
  })
})

test('a schema from outside with modifiers is refused', () => {
  expect(() => checkOutsideSchema({ pattern: '(?i:a)' })).toThrow(knowsModifiers ? TooComplex : MalformedSchema)
})

test('schemas of code keep the regular expressions of JavaScript', () => {
  expect(checkValue({ pattern: '^(a+)\\1$' }, 'aaaa', 'code')).toEqual({ fits: true })
  if (knowsModifiers) expect(checkValue({ pattern: '^(?i:ab)$' }, 'AB', 'code')).toEqual({ fits: true })
  expect(() => checkValue({ pattern: '^(a+)\\1$' }, 'aaaa', 'outside')).toThrow(/back references/)
})
