import fc from 'fast-check'
import type { Json } from 'perdure/client'
import { describe, expect, test } from 'vitest'
import { fieldsOf } from './fields.ts'
import {
  addedValue,
  emptyValue,
  isSame,
  jsonText,
  numberText,
  parseJson,
  parseNumber,
  problemsIn,
  valueAt,
  withValueAt,
} from './values.ts'

describe('values and their texts', () => {
  test('every number comes back from its text as it was', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(parseNumber(numberText(number))).toEqual({ ok: true, value: number === 0 ? 0 : number })
      }),
    )
  })

  test('every JSON comes back from its text as it was', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), (given) => {
        const value = JSON.parse(given) as Json
        expect(parseJson(jsonText(value))).toEqual({ ok: true, value: JSON.parse(JSON.stringify(value)) })
      }),
    )
  })

  test.each(['', ' ', 'x', '1x', '1,000', '0x10', 'Infinity', 'NaN', '--1', '1e', '.'])(
    '%j is not a number',
    (text) => {
      expect(parseNumber(text)).toEqual({ ok: false, problem: 'This is not a number.' })
    },
  )

  test.each(['12345678901234567890', '0.1234567890123456789', '1e400', '9007199254740993'])(
    '%s is refused and not rounded',
    (text) => {
      expect(parseNumber(text)).toEqual({ ok: false, problem: 'This number cannot be kept exactly.' })
      expect(parseJson(`{"amount": ${text}}`).ok).toBe(false)
      expect(parseJson(`{"amount": "${text}", "\\"${text}": "\\\\"}`).ok).toBe(true)
    },
  )

  test.each([
    ['+5', 5],
    ['05', 5],
    ['5.', 5],
    ['.5', 0.5],
    ['5.00', 5],
    ['1E3', 1000],
    ['-0', 0],
    ['100', 100],
  ])('%s is the number %d', (text, value) => {
    expect(parseNumber(text)).toEqual({ ok: true, value })
  })
})

describe('withValueAt', () => {
  test('changes one place and keeps everything else', () => {
    const before = { a: { b: [1, { c: 2 }] }, d: { e: 3 } }
    const after = withValueAt(before, ['a', 'b', 1, 'c'], 9) as typeof before
    expect(after).toEqual({ a: { b: [1, { c: 9 }] }, d: { e: 3 } })
    expect(after.d).toBe(before.d)
    expect(before.a.b[1]).toEqual({ c: 2 })
  })

  test('takes members and items away, and makes what is missing on the way', () => {
    expect(withValueAt({ a: 1, b: 2 }, ['a'], undefined)).toEqual({ b: 2 })
    expect(withValueAt([1, 2, 3], [1], undefined)).toEqual([1, 3])
    expect(withValueAt(undefined, ['a', 'b'], 'x')).toEqual({ a: { b: 'x' } })
  })

  test('has no power over what objects inherit', () => {
    const after = withValueAt({}, ['__proto__', 'isAdmin'], true)
    expect(JSON.stringify(after)).toBe('{"__proto__":{"isAdmin":true}}')
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined()
    expect(valueAt({}, ['constructor'])).toBeUndefined()
  })
})

describe('problemsIn', () => {
  const schema = {
    type: 'object',
    required: ['cents', 'email', 'carrier'],
    properties: {
      cents: { type: 'integer', minimum: 1, maximum: 5000, multipleOf: 5 },
      email: { type: 'string', format: 'email', maxLength: 20 },
      carrier: { enum: ['post', 'courier'] },
      code: { type: ['string', 'null'], pattern: '^[A-Z]+$' },
      tags: { type: 'array', items: { type: 'string', minLength: 1 }, maxItems: 2 },
    },
  }
  const field = fieldsOf(schema)
  const words = (value: Json): string[] =>
    problemsIn(field, value).map(({ path, text }) => `${path.join('.')}: ${text}`)

  test('finds nothing in a value that fits', () => {
    expect(words({ cents: 4500, email: 'ann@acme.example', carrier: 'post', code: null, tags: ['a'] })).toEqual([])
  })

  test('says of each place what does not fit', () => {
    expect(words({ cents: 0.5, email: 'ann', code: 'abc', tags: ['a', '', 'c'] })).toEqual([
      'cents: This must be a whole number.',
      'cents: This must be at least 1.',
      'cents: This must be a multiple of 5.',
      'email: This must be an email address.',
      'carrier: This is needed.',
      'code: This must match ^[A-Z]+$',
      'tags: At most 2 items; this has 3.',
      'tags.1: This is needed.',
    ])
  })

  test('leaves patterns that could take long, or that no browser knows, to the server', () => {
    const started = performance.now()
    const patterns = ['^(a+)+$', '^(a|a)*$', '^(a*)*b$', '(', '(?<=x', '^([a-z]+)*$', '^a*a*a*a*b$', '(a)\\1*']
    const choices = [`^${'a?'.repeat(36)}${'a'.repeat(36)}$`, `^${'(a|a)'.repeat(36)}$`, `^${'a{0,99}'.repeat(14)}b$`]
    for (const pattern of [...patterns, ...choices])
      problemsIn(fieldsOf({ type: 'string', pattern }), `${'a'.repeat(36)}!`)
    expect(performance.now() - started).toBeLessThan(2_000)
  })

  test('tries a pattern that is quick for the text, however many repetitions it has', () => {
    const words = (pattern: string, text: string) => problemsIn(fieldsOf({ type: 'string', pattern }), text).length
    expect(words('^[a-z]+$', 'a'.repeat(499))).toBe(0)
    expect(words('^[a-z]+$', `${'a'.repeat(498)}!`)).toBe(1)
    expect(words('^[A-Z]+-[0-9]+\\+?[0-9]*$', 'ab-12')).toBe(1)
    expect(words('^(yes|no|maybe)$', 'never')).toBe(1)
  })

  test('counts characters as JSON Schema does', () => {
    expect(problemsIn(fieldsOf({ type: 'string', maxLength: 2 }), '👍👍')).toEqual([])
  })

  test('a huge value that fits nowhere has few problems', () => {
    const list = fieldsOf({ type: 'array', items: { type: 'number' } })
    expect(
      problemsIn(
        list,
        Array.from({ length: 100_000 }, () => 'x'),
      ),
    ).toHaveLength(20)
  })
})

test('a form begins with what is needed and what has a default', () => {
  const field = fieldsOf({
    type: 'object',
    required: ['street', 'items', 'kind'],
    properties: {
      street: { type: 'string' },
      items: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
      kind: { const: 'address' },
      country: { type: 'string', default: 'AT' },
      floor: { type: 'number' },
    },
  })
  expect(emptyValue(field)).toEqual({ items: [], kind: 'address', country: 'AT' })
  expect(addedValue(fieldsOf({ type: 'string' }))).toBe('')
  expect(addedValue(fieldsOf({ enum: ['post', 'courier'] }))).toBe('post')
})

test('two values are the same whatever the order of their members', () => {
  expect(isSame({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toBe(true)
  expect(isSame({ a: 1 }, { a: 1, b: 2 })).toBe(false)
  expect(isSame([1, 2], [2, 1])).toBe(false)
  expect(isSame({}, [])).toBe(false)
})
