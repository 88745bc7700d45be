import { expect, test } from 'vitest'
import type { Json, JsonObject } from '../json.ts'
import { checkValue } from './compile-schema.ts'

const tree = {
  type: 'object',
  properties: { below: { type: 'array', items: { $ref: '#' } } },
  additionalProperties: false,
}
const withAnchor = { $ref: '#name', $defs: { n: { $anchor: 'name', type: 'string' } } }
const withId = {
  $id: 'https://example.com/whole',
  $ref: 'part#/$defs/inner',
  $defs: { p: { $id: 'part', $defs: { inner: { $ref: '#/$defs/other' }, other: { type: 'string' } } } },
}
const oldRef = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  $ref: '#/definitions/t',
  minLength: 5,
  definitions: { t: { type: 'string' } },
}
const leftOver = {
  allOf: [{ properties: { a: true } }],
  anyOf: [{ required: ['b'], properties: { b: true } }, true],
  unevaluatedProperties: false,
}

const cases: readonly [schema: JsonObject, fits: readonly Json[], not: readonly (readonly [Json, string])[]][] = [
  [
    { type: 'integer' },
    [1, -0, 1e21],
    [
      [1.5, 'must be integer, not number'],
      ['1', 'must be integer, not string'],
    ],
  ],
  [{ type: ['string', 'null'] }, ['', null], [[[], 'must be string or null, not array']]],
  [{ const: { a: [1, 2] } }, [{ a: [1, 2] }], [[{ a: [2, 1] }, 'must be {"a":[1,2]}']]],
  [{ enum: [1, 'a', { b: 1, c: 2 }] }, [1, 'a', { c: 2, b: 1 }], [[2, 'must be one of 1,"a",{"b":1,"c":2}']]],
  [{ not: { type: 'string' } }, [1], [['a', 'fits what it must not fit']]],
  [
    { anyOf: [{ type: 'string' }, { minimum: 3 }] },
    ['a', 3, null],
    [[2, 'fits none of the alternatives; must be string, not number; must be at least 3']],
  ],
  [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, [2], [[4, 'must be at most 3']]],
  [{ oneOf: [{ minimum: 1 }, { maximum: 3 }] }, [0, 4], [[2, 'fits 2 alternatives, and must fit exactly one']]],
  [
    JSON.parse('{"if":{"minimum":5},"then":{"multipleOf":2},"else":{"const":1}}'),
    [6, 1],
    [
      [7, 'must be a multiple of 2'],
      [2, 'must be 1'],
    ],
  ],
  [{ required: ['a'] }, [{ a: null }, 1], [[{ b: 1 }, "the property 'a' is missing"]]],
  [
    { properties: { a: { properties: { b: { type: 'null' } } } } },
    [{ a: { b: null } }, {}],
    [[{ a: { b: 1 } }, 'a.b: must be null, not number']],
  ],
  [{ properties: { a: true }, additionalProperties: false }, [{ a: 1 }], [[{ a: 1, b: 2 }, 'b: is not allowed']]],
  [
    { patternProperties: { '^x': { type: 'number' } }, additionalProperties: { type: 'string' } },
    [{ xa: 1, b: '' }],
    [
      [{ xa: '' }, 'xa: must be number, not string'],
      [{ b: 1 }, 'b: must be string, not number'],
    ],
  ],
  [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [[{ abc: 1 }, 'abc: must have at most 2 characters, not 3']]],
  [{ minProperties: 1, maxProperties: 2 }, [{ a: 1 }], [[{}, 'must have at least 1 properties, not 0']]],
  [
    { dependentRequired: { a: ['b'] } },
    [{ b: 1 }, { a: 1, b: 1 }],
    [[{ a: 1 }, "the property 'b' is missing, because there is 'a'"]],
  ],
  [
    { dependentSchemas: { a: { maxProperties: 1 } } },
    [{ a: 1 }, { b: 1, c: 1 }],
    [[{ a: 1, b: 1 }, 'must have at most 1 properties, not 2']],
  ],
  [
    { dependencies: { a: ['b'], c: { required: ['d'] } } },
    [{ a: 1, b: 1 }, {}],
    [[{ c: 1 }, "the property 'd' is missing"]],
  ],
  [leftOver, [{ a: 1, b: 1 }, { a: 1 }], [[{ a: 1, c: 1 }, 'c: is not allowed']]],
  [{ items: { type: 'number' } }, [[1, 2]], [[[1, 'a'], '[1]: must be number, not string']]],
  [{ prefixItems: [{ type: 'number' }], items: false }, [[1], []], [[[1, 2], '[1]: is not allowed']]],
  [
    { items: [{ type: 'number' }], additionalItems: { type: 'string' } },
    [[1, 'a']],
    [[[1, 2], '[1]: must be string, not number']],
  ],
  [
    { prefixItems: [true], unevaluatedItems: { type: 'string' } },
    [[1, 'a']],
    [[[1, 2], '[1]: must be string, not number']],
  ],
  [
    { contains: { const: 1 }, maxContains: 2 },
    [[1, 1, 2]],
    [
      [[2], 'must contain at least 1 items that fit, not 0'],
      [[1, 1, 1], 'must contain at most 2 items that fit, not 3'],
    ],
  ],
  [{ contains: { const: 1 }, minContains: 0 }, [[], [2]], []],
  [{ minItems: 1, maxItems: 2 }, [[1]], [[[], 'must have at least 1 items, not 0']]],
  [
    { uniqueItems: true },
    [[1, '1', [1], { a: 1 }, true]],
    [[[{ a: 1, b: 2 }, 3, { b: 2, a: 1 }], 'the items 0 and 2 are equal']],
  ],
  [
    { exclusiveMinimum: 1, exclusiveMaximum: 3 },
    [2],
    [
      [1, 'must be more than 1'],
      [3, 'must be less than 3'],
    ],
  ],
  [{ multipleOf: 0.1 }, [0.3, 1e308], [[0.35, 'must be a multiple of 0.1']]],
  [{ minLength: 2, maxLength: 3 }, ['😀😀', 'abc'], [['😀', 'must have at least 2 characters, not 1']]],
  [{ pattern: '^a+$' }, ['aa'], [['ab', 'must match the pattern ^a+$']]],
  [{ format: 'email' }, ['a@b.c', 5], [['a', 'is not of the format email']]],
  [{ format: 'unheard-of' }, ['a'], []],
  [tree, [{ below: [{ below: [] }] }], [[{ below: [{ above: 1 }] }, 'below[0].above: is not allowed']]],
  [withAnchor, ['a'], [[1, 'must be string, not number']]],
  [withId, ['a'], [[1, 'must be string, not number']]],
  [oldRef, ['a'], [[1, 'must be string, not number']]],
]

test.each(cases)('%j', (schema, fitting, not) => {
  for (const origin of ['code', 'outside'] as const) {
    for (const value of fitting)
      expect(checkValue(schema, value, origin), JSON.stringify(value)).toEqual({ fits: true })
    for (const [value, issues] of not) expect(checkValue(schema, value, origin)).toEqual({ fits: false, issues })
  }
})

test('keys that objects inherit are not properties', () => {
  expect(checkValue({ required: ['toString'] }, {}, 'code').fits).toBe(false)
  const value = JSON.parse('{"__proto__":1}') as Json
  expect(checkValue(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), value, 'code').fits).toBe(false)
})

test('many issues, long names and long values are told in few words', () => {
  const verdict = checkValue({ items: { enum: ['y'.repeat(10_000), 7] } }, new Array(50).fill({ x: 1 }), 'code')
  expect(verdict.fits).toBe(false)
  if (verdict.fits) return
  expect(verdict.issues).toMatch(/^\[0\]: must be one of "y+….*; and 40 more$/)
  expect(verdict.issues.length).toBeLessThan(5_000)
  const key = checkValue({ additionalProperties: false }, { ['k'.repeat(10_000)]: 1 }, 'code')
  expect(JSON.stringify(key).length).toBeLessThan(200)
})

test.each([
  [{ properties: 5 }, "'properties' must be an object"],
  [{ properties: { a: 5 } }, "'properties' must be an object of schemas"],
  [{ required: 'a' }, "'required' must be a list of strings"],
  [{ allOf: [1] }, "'allOf' must be a list of schemas"],
  [{ minimum: '1' }, "'minimum' must be a number"],
  [{ type: 5 }, "'type' must be a string or a list of strings"],
  [{ pattern: '(' }, "'(' is not a regular expression"],
  [{ $ref: '#/$defs/none' }, "'#/$defs/none' refers to nothing"],
  [{ $ref: 'https://example.com/other' }, "'https://example.com/other' refers to nothing"],
  [{ dependentRequired: { a: 'b' } }, "'dependentRequired' must be an object of lists of strings"],
])('%j makes no sense, and says so', (schema, problem) => {
  for (const origin of ['code', 'outside'] as const)
    expect(() => checkValue(schema as JsonObject, 'a', origin)).toThrow(problem)
})
