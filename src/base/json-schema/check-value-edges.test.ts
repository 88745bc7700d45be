import { expect, test } from 'vitest'
import type { Json, JsonObject } from '../json.ts'
import { checkOutsideSchema, checkValue } from './compile-schema.ts'
import { at, shown } from './issues.ts'
import { MalformedSchema } from './read-keyword.ts'
import { TooComplex } from './step-budget.ts'

const verdict = (schema: JsonObject | boolean, value: Json) => checkValue(schema, value, 'code')
const issues = (schema: JsonObject | boolean, value: Json) => {
  const found = verdict(schema, value)
  return found.fits ? null : found.issues
}

test('a schema may be true or false', () => {
  expect(verdict(true, 1)).toEqual({ fits: true })
  expect(verdict(false, 1)).toMatchObject({ fits: false })
})

test('a list has as many items as it may, and its bounds belong to it', () => {
  const schema = { minItems: 1, maxItems: 2 }
  expect([issues(schema, [1]), issues(schema, [1, 2])]).toEqual([null, null])
  expect(issues(schema, [])).toContain('must have at least 1 items, not 0')
  expect(issues(schema, [1, 2, 3])).toContain('must have at most 2 items, not 3')
  expect(issues({ maxItems: 0 }, [1])).toContain('must have at most 0 items, not 1')
})

test('a number is a multiple by its digits, and of nothing that is not above zero', () => {
  expect([
    issues({ multipleOf: 0.1 }, 0.3),
    issues({ multipleOf: 1e-7 }, 3e-7),
    issues({ multipleOf: 0.5 }, 1e21),
  ]).toEqual([null, null, null])
  expect(issues({ multipleOf: 0.2 }, 0.3)).toContain('must be a multiple of 0.2')
  expect(issues({ multipleOf: 3e-7 }, 1e-6)).not.toBe(null)
  for (const multipleOf of [0, -1]) expect(issues({ multipleOf }, 2)).not.toBe(null)
})

test('what a condition that holds has looked at is looked at; one that does not hold leaves nothing', () => {
  const schema = JSON.parse(
    '{"if":{"properties":{"a":{"const":1}},"required":["a"]},"else":true,"unevaluatedProperties":false}',
  )
  expect(issues(schema, { a: 1 })).toBe(null)
  expect(issues(schema, { a: 2 })).not.toBe(null)
})

test('an address that is none makes no schema, and neither does one that leads nowhere', () => {
  expect(() => verdict({ $ref: 'http://[' }, 1)).toThrow(MalformedSchema)
  expect(() => verdict({ $id: 'http://[', type: 'string' }, 1)).toThrow(MalformedSchema)
  expect(() => checkOutsideSchema({ $ref: '#/%zz' })).toThrow("'#/%zz' refers to nothing in it")
  expect(() => checkOutsideSchema({ $ref: '#/$defs/none' })).toThrow(MalformedSchema)
  checkOutsideSchema({ $ref: '#/$defs/a%25b', $defs: { 'a%b': { type: 'string' } } })
})

test('a schema is found by its address, by its anchor, and by an anchor that is written as its id', () => {
  const text = { type: 'string' }
  for (const schema of [
    { $ref: 'other', $defs: { x: { $id: 'other', ...text } } },
    { $ref: 'other#', $defs: { x: { $id: 'other', ...text } } },
    { $ref: 'other', $defs: { x: { id: 'other#', ...text } } },
    { $ref: 'other#/$defs/y', $defs: { x: { $id: 'other', $defs: { y: text } } } },
    { $ref: 'other#b', $defs: { x: { $id: 'other', $defs: { y: { $anchor: 'b', ...text } } } } },
    { $ref: '#a', $defs: { x: { $anchor: 'a', ...text } } },
    { $ref: '#a', $defs: { x: { $id: '#a', ...text } } },
    { $ref: '#a', $defs: { x: { id: '#a', ...text } } },
    { $ref: '#b', $defs: { x: { $id: '#a', $anchor: 'b', ...text } } },
    { $ref: '#/$defs/a~1b~0c', $defs: { 'a/b~c': text } },
  ]) {
    expect(issues(schema, 'text')).toBe(null)
    expect(issues(schema, 1)).toBe('must be string, not number')
  }
  for (const $ref of ['other', '#other', '#/other', 'other#x', '#/$defs/x/type'])
    expect(() => verdict({ $ref, $defs: { x: { ...text, enum: [{ $id: 'other' }] } } }, 'text')).toThrow(
      `'${$ref}' refers to nothing`,
    )
})

test('what is no address or no pattern is shown by its first sixty characters', () => {
  const long = `http://[${'x'.repeat(90)}`
  const begun = long.slice(0, 60)
  expect(() => verdict({ $ref: long }, 1)).toThrow(new MalformedSchema(`'${begun}' is not the address of a schema`))
  const pattern = `(${'x'.repeat(90)}`
  for (const origin of ['code', 'outside'] as const)
    expect(() => checkValue({ pattern }, 'text', origin)).toThrow(
      new MalformedSchema(`'${pattern.slice(0, 60)}' is not a regular expression`),
    )
})

test('a pattern that cannot be checked in bounded steps is shown up to its sixtieth character', () => {
  const refusal = (shown: string) =>
    new TooComplex(`the pattern '${shown}' has back references, which cannot be checked in a bounded number of steps`)
  const fitting = `(a)${'x'.repeat(55)}\\1`
  expect(() => checkOutsideSchema({ pattern: fitting })).toThrow(refusal(fitting))
  expect(() => checkOutsideSchema({ pattern: `${fitting}y` })).toThrow(refusal(`${fitting}…`))
})

test('a pattern that stands twice in a schema is the same in both places', () => {
  const schema = { items: [{ pattern: '^a' }, { pattern: '^a' }] }
  for (const origin of ['code', 'outside'] as const) {
    expect(checkValue(schema, ['a', 'ab'], origin)).toEqual({ fits: true })
    expect(checkValue(schema, ['a', 'b'], origin)).toMatchObject({ fits: false })
  }
})

test('an issue begins with its place, and long names and values are cut', () => {
  expect(at([], 'is wrong')).toBe('is wrong')
  expect(at(['a', 0, 'b', '12', 'c'], 'is wrong')).toBe('a[0].b[12].c: is wrong')
  expect(at([3, 'a'], 'is wrong')).toBe('[3].a: is wrong')
  expect(shown([1, 'a', { b: null, c: [true] }])).toBe('[1,"a",{"b":null,"c":[true]}]')
  const long = shown(Array.from({ length: 5_000 }, (_, n) => ({ n })))
  expect(long.length).toBeLessThan(2_000)
  expect(shown(Array.from({ length: 5_000 }, () => 'text'.repeat(500))).length).toBeLessThan(4_000)
})

test('of alternatives that stand together all that does not fit is told', () => {
  const number = { type: 'number' }
  const told = issues({ anyOf: [number], allOf: [{ maxLength: 1 }], oneOf: [{ minLength: 9 }] }, 'text')
  for (const part of ['fits none of the alternatives', 'at most 1', 'at least 9']) expect(told).toContain(part)
})
