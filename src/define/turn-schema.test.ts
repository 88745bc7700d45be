import { expect, test } from 'vitest'
import { z } from 'zod'
import { doubling } from '../../test/schemas/hostile-pairs.ts'
import { turnSchema } from './schema.ts'

test('a schema that a message brings is taken as JSON Schema', () => {
  expect(turnSchema({ type: 'string' })).toEqual({ type: 'string' })
  expect(turnSchema(z.object({ n: z.number() }))).toMatchObject({ type: 'object', required: ['n'] })
})

test('what is no schema, or none that can be used, is refused as the output', () => {
  expect(() => turnSchema(7 as never)).toThrow(/output.*must be a Standard Schema or a JSON Schema/)
  const refused = expect.objectContaining({
    code: 'invalid_argument',
    message: expect.stringMatching(/output.*is not a JSON Schema/),
  })
  expect(() => turnSchema({ $ref: '#/$defs/none' })).toThrow(refused)
})

test('one that would take too long is refused as too complex', () => {
  const refused = expect.objectContaining({
    code: 'schema_too_complex',
    message: expect.stringContaining("objects against 'output'"),
  })
  expect(() => turnSchema(doubling(40))).toThrow(refused)
})
