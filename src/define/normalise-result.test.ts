import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encode } from '../log/codec.ts'
import { normaliseResult } from './normalise-result.ts'

const shared = { a: 1 }

class Payment {
  id = 'p1'
  amount = 5
  get label(): string {
    return 'not a member of its own'
  }
}

test.each([
  ['nothing', undefined, null],
  ['null', null, null],
  ['false', false, false],
  ['zero', 0, 0],
  ['minus zero', -0, -0],
  ['an empty string', '', ''],
  ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
  ['a URL', new URL('https://example.com/'), 'https://example.com/'],
  ['undefined members', { a: 1, b: undefined }, { a: 1 }],
  ['undefined in a list, where its place counts', [1, undefined, 2], [1, null, 2]],
  ['holes in a list', new Array(2), [null, null]],
  ['toJSON deep inside', { at: [new Date(0)] }, { at: ['1970-01-01T00:00:00.000Z'] }],
  ['toJSON that returns another one', { toJSON: () => ({ at: new Date(0) }) }, { at: '1970-01-01T00:00:00.000Z' }],
  ['toJSON that returns nothing', { a: { toJSON: () => undefined } }, {}],
  ['toJSON that is no function', { toJSON: 'later', a: { toJSON: null } }, { toJSON: 'later', a: { toJSON: null } }],
  ['a class by its own members', new Payment(), { id: 'p1', amount: 5 }],
  ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  ['the same object twice', [shared, shared], [{ a: 1 }, { a: 1 }]],
])('%s is recorded', (_, returned, result) => {
  expect(normaliseResult(returned)).toStrictEqual({ ok: true, result })
})

test('a __proto__ key stays a key', () => {
  const { result } = normaliseResult(JSON.parse('{"__proto__":{"a":1}}')) as { result: object }
  expect(Object.keys(result)).toEqual(['__proto__'])
})

const circle: { self?: unknown } = {}
circle.self = { list: [circle] }

const growing = { toJSON: (): object => ({ more: { ...growing } }) }

test.each([
  ['NaN', { a: { b: [Number.NaN] } }, /result\.a\.b\[0\] is NaN/],
  ['infinity', Number.POSITIVE_INFINITY, /result is Infinity/],
  ['a bigint', { id: 5n }, /result\.id is a bigint/],
  ['a function', { run: () => {} }, /result\.run is a function/],
  ['a symbol', Symbol('s'), /result is a symbol/],
  ['a map', new Map([['a', 1]]), /result is a Map/],
  ['a set', { tags: new Set() }, /result\.tags is a Set/],
  ['a promise that was not awaited', { user: Promise.resolve(1) }, /result\.user is a Promise/],
  ['an error', [new Error('x')], /result\[0\] is a Error/],
  ['bytes', new Uint8Array(3), /Uint8Array/],
  ['a response', new Response('x'), /result is a Response/],
  ['something that contains itself', circle, /result\.self\.list\[0\] contains itself/],
  ['a toJSON that never ends', growing, /nested deeper than 400 levels/],
  [
    'a toJSON that returns itself',
    {
      toJSON() {
        return this
      },
    },
    /contains itself/,
  ],
  ['a toJSON that throws', { toJSON: () => JSON.parse('{') }, /JSON/],
  [
    'a getter that throws',
    {
      get a() {
        throw new Error('gone')
      },
    },
    /gone/,
  ],
  ['a list longer than memory', new Array(2 ** 31), /has 2147483648 members/],
  ['more than an event holds', 'x'.repeat(1024 * 1024), /has 1048578 bytes; the limit is/],
  ['more than an event holds once it is escaped', '\u0000'.repeat(300_000), /has 1800002 bytes/],
])('%s ran, and cannot be recorded', (_, returned, error) => {
  const result = normaliseResult(returned)
  expect(result).toMatchObject({
    ok: false,
    outcome: 'ran',
    error: expect.stringMatching(/^the tool ran, but its result/),
  })
  expect(result).toMatchObject({ error: expect.stringMatching(error) })
})

test('whatever is returned, what is recorded is JSON, and nothing is thrown', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withSparseArray: true,
  })
  fc.assert(
    fc.property(anything, (returned) => {
      const result = normaliseResult(returned)
      if (result.ok) expect(() => encode(result.result)).not.toThrow()
      else expect(result.outcome).toBe('ran')
    }),
  )
})

test('JSON is recorded as it is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(normaliseResult(value)).toStrictEqual({ ok: true, result: value })
    }),
  )
})
