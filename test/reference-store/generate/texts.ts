import fc from 'fast-check'

const fixed = [
  '\u0000',
  'before\u0000after',
  '\ud800',
  'lone \udfff tail',
  '\udc00\ud800',
  '__proto__',
  'constructor',
  '🦊',
  '👩‍👩‍👧‍👦 e\u0301 \u202eabc',
  '\ufeff\u2028\u2029\ufffe\uffff',
  "'; DROP TABLE events; --",
  `"quoted" 'single' \`tick\` \\ \\u0000 \\ud800`,
  '$1 $$ %s %_ ? :name @p',
  '{"json":"inside"}',
  '\r\n\t\u0008\u001b\u007f\u0085',
  "E'\\\\x00' || chr(0)",
]

const long = fc
  .tuple(fc.constantFrom('x', 'é', '🦊', '"', '\u0000', '\ud800'), fc.integer({ min: 1000, max: 8000 }))
  .map(([unit, count]) => unit.repeat(count))

const hostile = fc.oneof(
  { weight: 16, arbitrary: fc.constantFrom(...fixed) },
  { weight: 1, arbitrary: long },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom(...fixed), fc.constantFrom(...fixed)).map(([head, tail]) => head + tail),
  },
)

const plain = fc.oneof(fc.constantFrom('', 'a', 'hello world', 'Order 42'), fc.stringMatching(/^[a-z0-9 ]{0,12}$/))

/** Any string, hostile in a little over a third of cases, so that at least a fifth of the values hold one. */
export const text: fc.Arbitrary<string> = fc.oneof({ weight: 62, arbitrary: plain }, { weight: 38, arbitrary: hostile })

/** A string that breaks a store which quotes, encodes or compares text carelessly. */
export function isHostileText(value: string): boolean {
  return value.length >= 1000 || value === '__proto__' || value === 'constructor' || /[^a-zA-Z0-9 ]/.test(value)
}
