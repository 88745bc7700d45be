import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Field, fieldsOf, fieldsOfValue } from './fields.ts'

const kindOf = (schema: unknown): string => fieldsOf(schema).kind
const members = (field: Field) => (field.kind === 'object' ? field.properties : [])

describe('fieldsOf', () => {
  test('makes a field of every member of an object, and knows which are needed', () => {
    const schema = z.toJSONSchema(
      z.object({
        orderId: z.string().min(3).describe('The number on the invoice'),
        cents: z.number().int().positive(),
        isGift: z.boolean().optional(),
        carrier: z.enum(['post', 'courier']),
        tags: z.array(z.string()).max(3),
        address: z.object({ street: z.string(), zip: z.string().regex(/^\d+$/) }),
        note: z.string().nullable(),
        version: z.literal(2),
      }),
    )
    const found = members(fieldsOf(schema))
    expect(found.map(({ name, isRequired, field }) => [name, isRequired, field.kind, field.isNullable])).toEqual([
      ['orderId', true, 'text', false],
      ['cents', true, 'number', false],
      ['isGift', false, 'boolean', false],
      ['carrier', true, 'choice', false],
      ['tags', true, 'list', false],
      ['address', true, 'object', false],
      ['note', true, 'text', true],
      ['version', true, 'constant', false],
    ])
    expect(found[0]!.field).toMatchObject({ description: 'The number on the invoice', least: 3 })
    expect(found[1]!.field).toMatchObject({ isWhole: true, above: 0 })
  })

  test.each([
    ['no schema', null],
    ['a schema that allows anything', {}],
    ['true', true],
    ['several types', { type: ['string', 'number'] }],
    ['a union of objects', { anyOf: [{ type: 'object' }, { type: 'string' }] }],
    ['rules across members', { type: 'object', properties: { a: {} }, allOf: [{}] }],
    ['a record of unknown names', { type: 'object', additionalProperties: { type: 'number' } }],
    ['a reference to another document', { $ref: 'https://example.com/schema' }],
    ['a reference to nothing', { $ref: '#/$defs/None' }],
    ['a reference that cannot be decoded', { $ref: '#/$defs/%E0%A4%A' }],
    ['a reference to what every object inherits', { $ref: '#/constructor' }],
  ])('asks for JSON where there is %s', (_, schema) => {
    expect(kindOf(schema)).toBe('json')
  })

  test('makes a choice of constants, with their titles', () => {
    const oneOf = [{ const: 'rerun', title: 'Run it again' }, { const: 7 }, { type: 'null' }]
    expect(fieldsOf({ oneOf })).toMatchObject({
      kind: 'choice',
      isNullable: true,
      options: [
        { value: 'rerun', label: 'Run it again' },
        { value: 7, label: '7' },
      ],
    })
  })

  test('follows a reference, and stops where a schema contains itself', () => {
    const node = { type: 'object', properties: { name: { type: 'string' }, next: { $ref: '#/$defs/Node' } } }
    const [name, next] = members(fieldsOf({ $ref: '#/$defs/Node', $defs: { Node: node } }))
    expect(name!.field.kind).toBe('text')
    expect(next!.field).toMatchObject({ kind: 'json', why: 'It contains itself.' })
    expect(kindOf({ $ref: '#' })).toBe('json')
  })

  test('does not follow doubling references without end', () => {
    const $defs: Record<string, unknown> = { D0: { type: 'string' } }
    for (let depth = 1; depth < 40; depth += 1) {
      const below = { $ref: `#/$defs/D${depth - 1}` }
      $defs[`D${depth}`] = { type: 'object', properties: { left: below, right: below } }
    }
    const started = performance.now()
    expect(kindOf({ $ref: '#/$defs/D39', $defs })).toBe('object')
    expect(performance.now() - started).toBeLessThan(1_000)
  })

  test('asks for JSON where there are ten thousand members, choices or forms', () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `field${index}`)
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
    expect(fieldsOf({ type: 'object', properties })).toMatchObject({ kind: 'json', why: 'It has 10,000 fields.' })
    expect(fieldsOf({ enum: names })).toMatchObject({ kind: 'json', why: 'It is one of 10,000 values.' })
    expect(kindOf({ anyOf: names.map((value) => ({ const: value })) })).toBe('json')
  })

  test('does not take members for more than they are', () => {
    const properties = JSON.parse('{"__proto__": {"type": "string"}, "constructor": {"type": "number"}}') as object
    expect(members(fieldsOf({ type: 'object', properties })).map(({ name }) => name)).toEqual([
      '__proto__',
      'constructor',
    ])
    expect(kindOf({ type: 'object', properties: [], required: 'all', minimum: 'x', title: 5 })).toBe('json')
  })
})

test('a value without a schema is shown by its members', () => {
  const found = members(fieldsOfValue({ orderId: 'o-17', cents: 50, isGift: true, items: [1], none: null }))
  expect(found.map(({ name, field }) => [name, field.kind])).toEqual([
    ['orderId', 'text'],
    ['cents', 'number'],
    ['isGift', 'boolean'],
    ['items', 'json'],
    ['none', 'json'],
  ])
})
