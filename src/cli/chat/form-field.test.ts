import { expect, test } from 'vitest'
import type { JsonObject } from '../../base/json.ts'
import { fieldDefault, fieldLabel, formFields, readField } from './ask-form.ts'

function field(schema: JsonObject, isRequired = true) {
  return { name: 'x', schema, isRequired }
}

test('an object is asked for field by field, anything else as it is', () => {
  const properties = { a: { type: 'string' }, b: true }
  expect(formFields({ type: 'object', properties, required: ['a'] })).toEqual([
    { name: 'a', schema: { type: 'string' }, isRequired: true },
    { name: 'b', schema: {}, isRequired: false },
  ])
  expect(formFields({ type: 'integer' })).toEqual([{ name: null, schema: { type: 'integer' }, isRequired: true }])
  expect(formFields(true)).toEqual([{ name: null, schema: {}, isRequired: true }])
})

test.each<[JsonObject, string, unknown]>([
  [{ type: 'string' }, ' 12 ', '12'],
  [{ type: 'integer' }, '12', 12],
  [{ type: 'number' }, '-1.5', -1.5],
  [{ type: 'boolean' }, 'Y', true],
  [{ type: 'boolean' }, 'no', false],
  [{ enum: ['red', 'blue'] }, 'blue', 'blue'],
  [{ enum: ['red', 'blue'] }, '2', 'blue'],
  [{ enum: [2, 1] }, '1', 1],
  [{ type: 'array', items: { type: 'integer' } }, '1, 2', [1, 2]],
  [{ type: 'array' }, '["a"]', ['a']],
  [{ type: 'object' }, '{"a":1}', { a: 1 }],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'null', null],
])('%j reads %j as %j', async (schema, typed, value) => {
  expect(await readField(field(schema), typed)).toEqual({ ok: true, value })
})

test.each<[JsonObject, string, string]>([
  [{ type: 'integer' }, '1.5', 'a whole number'],
  [{ type: 'integer', minimum: 1, maximum: 5 }, '6', 'a whole number from 1 to 5'],
  [{ type: 'number', exclusiveMinimum: 0, maximum: 9.5 }, '0', 'a number above 0 up to 9.5'],
  [{ type: 'boolean' }, 'maybe', 'yes or no'],
  [{ enum: ['red', 'blue'] }, '3', 'choose one of 1 red, 2 blue'],
  [{ type: 'string', minLength: 1 }, '', 'it is needed'],
  [{ type: 'string', minLength: 8 }, 'short', 'a text of at least 8 characters'],
  [{ type: 'string', maxLength: 1 }, 'ab', 'a text of at most 1 character'],
  [{ type: 'string', format: 'email', maxLength: 40 }, 'ann', 'an e-mail address of at most 40 characters'],
  [{ type: 'string', pattern: '^o-' }, '17', 'a text that matches ^o-'],
  [
    { type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 },
    'a',
    'a list, at least 2 values, any of 1 a, 2 b, separated by commas',
  ],
  [{ type: 'object' }, '{', 'a JSON object such as {"name": "value"}'],
])('%j refuses %j and says what fits: %s', async (schema, typed, problem) => {
  expect(await readField(field(schema), typed)).toEqual({ ok: false, problem })
})

test("a rule that has no words is told in the validator's", async () => {
  const schema = { type: 'string', not: { const: 'none' } }
  expect(await readField(field(schema), 'none')).toMatchObject({ ok: false, problem: expect.stringContaining('not') })
})

test('what is not required may be left out, and labels say so', async () => {
  expect(await readField(field({ type: 'integer' }, false), ' ')).toEqual({ ok: true, value: undefined })
  expect(fieldLabel(field({ type: 'integer' }, false))).toBe('x (a whole number; Enter: none) ›')
  expect(fieldLabel(field({ type: 'string', title: 'Your name' }))).toBe('Your name ›')
  expect(fieldDefault(field({ type: 'integer', default: 3 }))).toBe('3')
})

test('what cannot be judged here is taken as it is: the server judges it', async () => {
  expect(await readField(field({ type: 'string', pattern: '^(a+)\\1$' }), 'ab')).toEqual({ ok: true, value: 'ab' })
})
