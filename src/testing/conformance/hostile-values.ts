import type { Json } from '../../base/json.ts'

/** JSON that stores and codecs like to change on the way. */
export const hostileValues: readonly Json[] = [
  null,
  '',
  'null',
  '\u0000',
  'a\u0000b',
  '\\u0000',
  '\ud800',
  'x\udc00y',
  '\udc00\ud800',
  '😀 👩‍👩‍👧‍👦 🇩🇪',
  'é and e\u0301',
  '\u2028\u2029\ufeff\uffff',
  '\r\n\t\b\f\v\u001b\u007f',
  `'; DROP TABLE events; -- " \` $1 ? :name %s {}`,
  '\\',
  'x'.repeat(70_000),
  -0,
  0,
  [-0, { zero: -0 }],
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  Number.MAX_VALUE,
  Number.MIN_VALUE,
  1e21,
  0.1 + 0.2,
  true,
  false,
  [],
  {},
  [[], [[]], {}],
  { z: 1, a: 2, m: { z: 1, a: 2 } },
  { 10: 'ten', 9: 'nine', b: 'b', a: 'a' },
  JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":1},"toString":2}') as Json,
  { '': 'empty', '\u0000': 'nul', '\ud800': 'lone', '😀': 'face', 'a.b[0]': 'path', '\'"': 'quote' },
  { blob: 'not a ref', mediaType: 'text/plain' },
  nested(400),
]

/** What JSON cannot hold. */
export const impossibleValues: readonly [string, () => unknown][] = [
  ['undefined', () => undefined],
  ['NaN', () => Number.NaN],
  ['Infinity', () => Number.POSITIVE_INFINITY],
  ['a bigint', () => 1n],
  ['a function', () => () => {}],
  ['a symbol', () => Symbol('test')],
  ['a date', () => new Date(0)],
  ['a map', () => new Map()],
  ['bytes', () => new Uint8Array(1)],
  ['an instance of a class', () => new (class Thing {})()],
  ['an object with a symbol as key', () => ({ [Symbol('test')]: 1 })],
  ['a list with a hole', () => new Array(2)],
  ['something that contains itself', containsItself],
  ['something nested too deep', () => nested(600)],
]

function nested(levels: number): Json {
  let value: Json = 'bottom'
  for (let level = 0; level < levels; level++) value = level % 2 ? { down: value } : [value]
  return value
}

function containsItself(): unknown {
  const value: { self?: unknown } = {}
  value.self = value
  return value
}
