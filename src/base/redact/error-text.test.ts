import { expect, test } from 'vitest'
import { errorText } from './redactor.ts'

const unreadable = new Proxy(
  {},
  {
    get() {
      throw new Error('no')
    },
    getPrototypeOf() {
      throw new Error('no')
    },
  },
)

test.each([
  ['an error', new Error('no funds'), 'no funds'],
  ['an error without a message', new TypeError(''), 'TypeError'],
  ['a string', 'no funds', 'no funds'],
  ['an empty string', '', 'it threw an empty string'],
  ['undefined', undefined, 'it threw undefined'],
  ['null', null, 'it threw null'],
  ['a number', 42, 'it threw 42'],
  ['a symbol', Symbol('s'), 'it threw Symbol(s)'],
  ['an object with a message', { message: 'no funds' }, 'no funds'],
  ['another object', { code: 5 }, 'it threw {"code":5}'],
  ['something that cannot be read', unreadable, 'it threw something that cannot be shown'],
  ['a message that is no string', Object.assign(new Error('x'), { message: 5 }), '5'],
])('%s becomes text', (_, thrown, text) => {
  expect(errorText(thrown)).toBe(text)
})

test('a long text is cut, and stays well-formed', () => {
  const text = errorText(new Error(`x${'😀'.repeat(100_000)}`))
  expect(text.length).toBeLessThanOrEqual(32_768)
  expect(text.isWellFormed()).toBe(true)
})
