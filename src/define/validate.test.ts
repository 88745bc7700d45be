import { type } from 'arktype'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Schema } from './schema.ts'
import { validate } from './validate.ts'

const jsonSchema = {
  type: 'object',
  properties: {
    order: { type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['order'],
}

const schemas: readonly [string, Schema][] = [
  ['zod', z.object({ order: z.object({ cents: z.number().int() }), tags: z.array(z.string()).optional() })],
  ['valibot', v.object({ order: v.object({ cents: v.number() }), tags: v.optional(v.array(v.string())) })],
  ['arktype', type({ order: { cents: 'number' }, 'tags?': 'string[]' })],
  ['JSON Schema', jsonSchema],
  ['JSON Schema of draft 7', { ...jsonSchema, $schema: 'http://json-schema.org/draft-07/schema#' }],
]

test.each(schemas)('%s accepts what fits', async (_, schema) => {
  const value = { order: { cents: 5 }, tags: ['a'] }
  expect(await validate(schema, value)).toEqual({ ok: true, value })
})

test.each(schemas)('%s says where and what is wrong', async (_, schema) => {
  const verdict = await validate(schema, { order: { cents: 'five' }, tags: ['a', 7] })
  expect(verdict).toMatchObject({ ok: false, issues: expect.stringMatching(/order\.cents.*tags\[1\]/s) })
})

test.each(schemas)('%s refuses a missing value', async (_, schema) => {
  expect(await validate(schema, undefined)).toMatchObject({ ok: false })
})

test('the value is what the schema makes of it', async () => {
  const schema = z.object({ at: z.coerce.date(), n: z.number().default(3) })
  expect(await validate(schema, { at: 0 })).toEqual({ ok: true, value: { at: new Date(0), n: 3 } })
})

test('a schema that checks asynchronously is waited for', async () => {
  const schema = z.object({ id: z.string().refine(async (id) => id === 'known', 'is not known') })
  expect(await validate(schema, { id: 'other' })).toEqual({ ok: false, issues: 'id: is not known' })
})

test.each([
  [
    'throws',
    () => {
      throw new Error('broken')
    },
  ],
  ['rejects', () => Promise.reject(new Error('broken'))],
  ['answers nonsense', () => null],
])('a schema that %s has an issue', async (_, check) => {
  const schema = { '~standard': { version: 1, vendor: 'odd', validate: check } } as unknown as Schema
  expect(await validate(schema, {})).toMatchObject({ ok: false, issues: expect.stringMatching(/could not be applied/) })
})

test('a JSON Schema with a reference to nothing has an issue', async () => {
  expect(await validate({ $ref: '#/$defs/nothing' }, {})).toMatchObject({ ok: false })
})

test('a JSON Schema is not changed by using it, so it may be frozen', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  expect(await validate(Object.freeze(schema), { a: 'x' })).toMatchObject({ ok: true })
  expect(Object.getOwnPropertyNames(schema.properties.a)).toEqual(['type'])
})

test.each([
  [10, 'i10$'],
  [11, 'i10; and 1 more$'],
  [25, 'i10; and 15 more$'],
])('of %i issues of a library the first ten are told, and how many more there are', async (count, end) => {
  const issues = Array.from({ length: count }, (_, index) => ({ message: `i${index + 1}` }))
  const schema = { '~standard': { version: 1, vendor: 'odd', validate: () => ({ issues }) } } as unknown as Schema
  const verdict = await validate(schema, {})
  expect(verdict).toMatchObject({ ok: false, issues: expect.stringMatching(new RegExp(`^i1; i2; .*; ${end}`)) })
})

test('many issues are cut short', async () => {
  const schema = { type: 'array', items: { type: 'string' } }
  const verdict = await validate(schema, new Array(50).fill(1))
  expect(verdict).toMatchObject({ issues: expect.stringMatching(/\[0\]: .*; and 40 more$/) })
})
