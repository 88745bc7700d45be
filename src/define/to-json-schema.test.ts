import { type } from 'arktype'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Schema, toJsonSchema } from './schema.ts'

const object = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }

test.each([
  ['zod', z.object({ a: z.string() })],
  ['valibot', v.object({ a: v.string() })],
  ['arktype', type({ a: 'string' })],
  ['JSON Schema', object],
])('%s becomes JSON Schema', (_, schema) => {
  expect(toJsonSchema(schema as Schema)).toMatchObject(object)
})

test('it describes what is passed in, not what comes out', () => {
  const schema = z.object({ a: z.string().transform(Number), b: z.string().default('x') })
  expect(toJsonSchema(schema)).toMatchObject({ properties: { a: { type: 'string' } }, required: ['a'] })
  const pipe = v.object({ a: v.pipe(v.string(), v.transform(Number)) })
  expect(toJsonSchema(pipe)).toMatchObject({ properties: { a: { type: 'string' } } })
})

test('it is a copy', () => {
  expect(toJsonSchema(object)).not.toBe(object)
})

test.each([
  ['zod', z.object({ a: z.date() })],
  ['valibot', v.object({ a: v.date() })],
])('what %s cannot say as JSON Schema is refused with advice', (vendor, schema) => {
  expect(() => toJsonSchema(schema)).toThrow(
    expect.objectContaining({
      code: 'schema_not_convertible',
      message: expect.stringMatching(new RegExp(`'${vendor}'.*pass a JSON Schema instead`)),
    }),
  )
})

test('a library is asked for draft 7, and for the newest draft where it does not know that one', () => {
  const asked: string[] = []
  const schemaOf = (known: string) => {
    const input = ({ target }: { target: string }) => {
      asked.push(target)
      if (target !== known) throw new Error('unknown target')
      return { type: 'object' }
    }
    return {
      '~standard': { version: 1, vendor: 'odd', validate: () => ({}), jsonSchema: { input } },
    } as unknown as Schema
  }
  expect(toJsonSchema(schemaOf('draft-07'))).toEqual({ type: 'object' })
  expect(toJsonSchema(schemaOf('draft-2020-12'))).toEqual({ type: 'object' })
  expect(asked).toEqual(['draft-07', 'draft-07', 'draft-2020-12'])
  expect(() => toJsonSchema(schemaOf('draft-3'))).toThrow(expect.objectContaining({ code: 'schema_not_convertible' }))
})

test('a library without JSON Schema is refused with advice', () => {
  const schema = { '~standard': { version: 1, vendor: 'other', validate: () => ({ value: 1 }) } } as unknown as Schema
  expect(() => toJsonSchema(schema)).toThrow(/'other'.*Upgrade the library/)
})

test('a JSON Schema that is not JSON is refused', () => {
  const circle: Record<string, unknown> = { type: 'object' }
  circle['properties'] = circle
  expect(() => toJsonSchema(circle)).toThrow(expect.objectContaining({ code: 'schema_not_convertible' }))
})
