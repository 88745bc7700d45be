import { expect, test } from 'vitest'
import { checkTraceparent, isTraceparent } from './traceparent.ts'

const trace = '0af7651916cd43dd8448eb211c80319c'
const span = 'b7ad6b7169203331'

test.each([`00-${trace}-${span}-01`, `00-${trace}-${span}-00`, `01-${trace}-${span}-ff`])(
  '%s names a span',
  (value) => {
    expect(isTraceparent(value)).toBe(true)
    expect(() => checkTraceparent(value)).not.toThrow()
  },
)

test.each([
  ['the version ff', `ff-${trace}-${span}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${span}-01`],
  ['a span of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
  ['capital letters', `00-${trace.toUpperCase()}-${span}-01`],
  ['more behind it', `00-${trace}-${span}-01-x`],
  ['a line break behind it', `00-${trace}-${span}-01\n`],
  ['a short trace', `00-${trace.slice(1)}-${span}-01`],
  ['no text', 7],
  ['null', null],
])('%s names none', (_, value) => {
  expect(isTraceparent(value)).toBe(false)
  expect(() => checkTraceparent(value)).toThrow('traceparent')
})

test('none need be given', () => {
  expect(() => checkTraceparent(undefined)).not.toThrow()
})
