import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InvalidValueError } from '../base/errors/log-errors.ts'
import { decode, encode } from './codec.ts'

/** Hostile text: NUL, lone surrogates, keys that mean something to JavaScript. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\u0000', '\ud800', 'a\udc00b', '__proto__', 'constructor', 'toString', '\u2028', '"\\\n', ''),
)
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.maxSafeInteger(),
  fc.constantFrom(-0, 0, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 5e-324, 1.7976931348623157e308),
)
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, true, false),
    number,
    text,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }).map(fromEntries),
  ),
})).value

describe('what is encoded comes back', () => {
  test('for every JSON value, in the order of its keys', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(flat(decode(encode(value)))).toEqual(flat(value))
      }),
      { seed: 1, numRuns: 2_000 },
    )
  })

  test.each<[string, unknown]>([
    ['a NUL', 'a\u0000b'],
    ['a lone high surrogate', '\ud800'],
    ['a lone low surrogate', { '\udfff': '\udc00' }],
    ['minus zero', -0],
    ['minus zero deep inside', { a: [1, { b: -0 }], c: 0 }],
    ['the greatest safe integer', Number.MAX_SAFE_INTEGER],
    ['an empty key', { '': 1 }],
    ['keys that are not in order', { b: 1, a: 2 }],
    ['an empty list and an empty object', [[], {}]],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
  ])('%s', (_, value) => {
    expect(flat(decode(encode(value)))).toEqual(flat(value))
  })

  test('a __proto__ key stays a key, and changes no prototype', () => {
    const value = JSON.parse('{"__proto__": {"polluted": true}, "n": -0}')
    const back = decode(encode(value)) as object
    expect(Object.keys(back)).toEqual(['__proto__', 'n'])
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
  })

  test('the same value twice is not a cycle', () => {
    const shared = { n: -0 }
    expect(decode(encode([shared, shared]))).toEqual([{ n: -0 }, { n: -0 }])
  })

  test('five hundred levels deep', () => {
    expect(() => encode(nested(499))).not.toThrow()
  })
})

describe('what JSON cannot hold is refused with its path', () => {
  const cyclic: Record<string, unknown> = { name: 'loop' }
  cyclic['again'] = { inner: cyclic }

  test.each<[string, unknown, string, string]>([
    ['undefined', undefined, 'content', 'undefined'],
    ['an undefined member', { a: { b: undefined } }, 'content.a.b', 'undefined'],
    ['NaN', { amount: Number.NaN }, 'content.amount', 'NaN'],
    ['infinity', [1, Number.POSITIVE_INFINITY], 'content[1]', 'Infinity'],
    ['a bigint', { id: 1n }, 'content.id', 'bigint'],
    ['a function', { run: () => {} }, 'content.run', 'function'],
    ['a symbol', [Symbol('s')], 'content[0]', 'symbol'],
    ['a date', { at: new Date(0) }, 'content.at', 'Date'],
    ['a map', new Map(), 'content', 'Map'],
    ['bytes', { file: new Uint8Array(2) }, 'content.file', 'Uint8Array'],
    ['a class instance', { money: new (class Money {})() }, 'content.money', 'Money'],
    ['a hole in a list', { list: Array(2) }, 'content.list[0]', 'undefined'],
    ['a cycle', { cyclic }, 'content.cyclic.again.inner', 'contains itself'],
    ['a symbol key', { bag: { [Symbol('hidden')]: 1 } }, 'content.bag', 'plain object'],
  ])('%s', (_, value, path, problem) => {
    const refused = refusalOf(value)
    expect(refused.path).toBe(path)
    expect(refused.message).toContain(problem)
    expect(refused.code).toBe('invalid_value')
  })

  test('more than five hundred levels', () => {
    expect(refusalOf(nested(501)).message).toContain('nested deeper than 500 levels')
  })
})

function refusalOf(value: unknown): InvalidValueError {
  try {
    encode(value, 'content')
  } catch (error) {
    if (error instanceof InvalidValueError) return error
    throw error
  }
  throw new Error('it was encoded')
}

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { value }
  return value
}

/** Own keys even for `__proto__`, which an assignment would lose. */
function fromEntries(entries: [string, unknown][]): unknown {
  const result = {}
  for (const [key, value] of entries) {
    Object.defineProperty(result, key, { value, enumerable: true, configurable: true, writable: true })
  }
  return result
}

/** Tells apart what equality does not: the order of keys, -0 from 0, a `__proto__` key from a prototype. */
function flat(value: unknown): unknown {
  if (Object.is(value, -0)) return '-0'
  if (Array.isArray(value)) return value.map(flat)
  if (typeof value !== 'object' || value === null) return value
  return { entries: Object.entries(value).map(([key, member]) => [key, flat(member)]) }
}
