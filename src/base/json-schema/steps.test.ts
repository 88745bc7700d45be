import { expect, test, vi } from 'vitest'
import type { Json, JsonObject } from '../json.ts'
import { checkValue } from './compile-schema.ts'
import { StepBudget } from './step-budget.ts'

/** The steps of a check: to compile the schema, to check the value, and to tell what does not fit. */
function stepsOf(schema: JsonObject, value: Json): number[] {
  const take = vi.spyOn(StepBudget.prototype, 'take')
  try {
    checkValue(structuredClone(schema), value, 'outside')
    return [...new Set(take.mock.contexts as StepBudget[])].map(({ taken }) => taken)
  } finally {
    take.mockRestore()
  }
}

const long = 'x'.repeat(100)
const unevaluated = { properties: { a: true }, unevaluatedProperties: false }

// Nodes of one fleet must agree about what is too complex, so these numbers only change with a reason.
test.each<[schema: JsonObject, value: Json, steps: number[]]>([
  [{}, 1, [50, 1]],
  [{ type: 'string' }, long, [53, 2]],
  [{ type: ['string', 'null'] }, 1, [55, 2, 102]],
  [{ const: { a: [1, long] } }, { a: [1, long] }, [92, 41]],
  [{ enum: [long, 'b', 3, { a: 1 }] }, long, [77, 9]],
  [{ enum: [long, 'b', 3, { a: 1 }] }, { a: 2 }, [77, 20, 120]],
  [{ minimum: 1, maximum: 5, exclusiveMinimum: 0, exclusiveMaximum: 6 }, 3, [54, 5]],
  [{ minimum: 1, maximum: 5 }, 9, [52, 3, 103]],
  [{ multipleOf: 0.1 }, 0.3, [51, 27]],
  [{ multipleOf: 1e-20 }, 1e20, [51, 29]],
  [{ minLength: 1, maxLength: 3 }, long, [52, 16, 116]],
  [{ pattern: '^a[b-d]+(?:e|f)?$' }, 'abcde', [204, 50]],
  [{ pattern: '^\\p{L}{2,4}(?=é)é\\b' }, 'abé', [10208, 63, 163]],
  [{ pattern: '(?<!x)y|[^\\d\\s]{3}' }, `${long}y`, [199.0078125, 320]],
  [{ format: 'email' }, 'ann@example.com', [51, 29]],
  [{ format: 'date-time' }, '2026-11-16T10:00:00Z', [51, 31]],
  [{ format: 'uuid' }, long, [51, 41, 141]],
  [{ format: 'regex' }, '^(a|b)*$', [51, 37]],
  [{ format: 'uri' }, 'https://example.com/a?b#c', [51, 31]],
  [{ format: 'ipv6' }, '::1', [51, 29]],
  [{ properties: { a: { type: 'string' }, b: true }, required: ['a', 'b'] }, { a: long, b: 1 }, [110, 15]],
  [{ properties: { a: { type: 'string' } }, required: ['a', 'c'] }, { a: 1 }, [109, 5, 212]],
  [{ patternProperties: { '^a': { type: 'number' } }, additionalProperties: false }, { ab: 1, ac: 2 }, [115, 61]],
  [{ patternProperties: { '^a': { type: 'number' } }, additionalProperties: false }, { ab: 'x', c: 2 }, [115, 35, 261]],
  [{ propertyNames: { maxLength: 3 } }, { abc: 1, [long]: 2 }, [102, 29, 130]],
  [{ minProperties: 1, maxProperties: 2 }, { a: 1, b: 2, c: 3 }, [52, 12, 112]],
  [{ anyOf: [{ type: 'number' }, { minimum: 0 }, { maximum: 9 }] }, 1, [206, 4]],
  [{ dependentRequired: { a: ['b', 'c'] } }, { a: 1, b: 2 }, [55, 4, 104]],
  [{ dependentSchemas: { a: { required: ['b'] } } }, { a: 1, b: 2 }, [104, 5]],
  [{ dependencies: { a: ['b'], b: { maxProperties: 1 } } }, { a: 1, b: 2 }, [104, 13, 113]],
  [unevaluated, { a: 1 }, [54, 30]],
  [unevaluated, { a: 1, b: 2 }, [54, 47, 148]],
  [{ ...unevaluated, anyOf: [{ properties: { b: true } }, { properties: { c: true } }] }, { a: 1, b: 2 }, [159, 85]],
  [{ items: { type: 'number' }, minItems: 1, maxItems: 3 }, [1, 2, 3], [106, 9]],
  [{ prefixItems: [true, { type: 'string' }], items: false }, [1, 'a', 2], [107, 7, 108]],
  [{ items: [true, { type: 'string' }], additionalItems: { type: 'number' } }, [1, 'a', 2], [159, 7]],
  [{ contains: { type: 'string' }, minContains: 1, maxContains: 2 }, [1, 'a', 'b', 'c'], [106, 14, 114]],
  [{ contains: { type: 'string' }, unevaluatedItems: false }, ['a', 1], [106, 49, 150]],
  [{ prefixItems: [true], unevaluatedItems: { type: 'number' } }, ['a', 1, 2], [106, 55]],
  [{ uniqueItems: true }, [1, 'a', long, { a: 1 }, [1]], [51, 75]],
  [{ uniqueItems: true }, [{ a: 1 }, { a: 1 }], [51, 54, 154]],
  [{ allOf: [{ type: 'number' }, { minimum: 1 }] }, 2, [155, 6]],
  [{ anyOf: [{ type: 'string' }, { minimum: 1 }] }, 2, [155, 6]],
  [{ anyOf: [{ type: 'string' }, { minimum: 3 }] }, 2, [155, 6, 306]],
  [{ oneOf: [{ type: 'number' }, { minimum: 1 }] }, 2, [155, 6, 106]],
  [{ oneOf: [{ type: 'string' }, { minimum: 1 }] }, 2, [155, 6]],
  [{ not: { type: 'string' } }, 'a', [104, 4, 104]],
  [{ $ref: '#/$defs/a', $defs: { a: { $ref: '#b' }, b: { $anchor: 'b', type: 'number' } } }, 1, [229, 6]],
  [{ $ref: 'other#/$defs/c', $defs: { a: { $id: 'other', $defs: { c: { type: 'number' } } } } }, 'a', [352, 4, 104]],
])('checking %j costs what it always did: %j', (schema, value, steps) => {
  expect(stepsOf(schema, value)).toEqual(steps)
})

test('a condition costs its own schema and the one that follows from it', () => {
  const schema = JSON.parse('{"if":{"minimum":1},"then":{"maximum":5},"else":{"minimum":-1}}') as JsonObject
  expect([2, 0, 9].map((value) => stepsOf(schema, value))).toEqual([
    [206, 6],
    [206, 6],
    [206, 6, 106],
  ])
})
