import { describe, expect, test } from 'vitest'
import { PerdureError } from './perdure-error.ts'
import { checkSignal, readArgument, readOptions, shown, thrownText } from './read-options.ts'
import { InvalidIdError } from './store-errors.ts'

const invalid = expect.objectContaining({ code: 'invalid_argument' })
const untouchable = new Proxy({}, new Proxy({}, { get: () => fail }))

function fail(): never {
  throw new TypeError('no')
}

describe('members of what a caller gave', () => {
  test('are read once, by name, and undefined is left out', () => {
    let reads = 0
    const given = {
      get a() {
        reads += 1
        return 1
      },
      b: undefined,
      c: 3,
    }
    expect(readOptions('options', given, ['a', 'b'])).toEqual({ a: 1 })
    expect(reads).toBe(1)
  })

  test('are none where nothing was given', () => {
    expect(readOptions<{ a: number }, 'a'>('options', undefined, ['a'])).toEqual({})
  })

  test.each([[null], [5], ['text'], [Symbol('x')], [fail]])('are refused where there can be none: %s', (given) => {
    expect(() => readOptions('options', given as never, [])).toThrow(invalid)
  })

  test('that throw are refused with what they threw', () => {
    const given = Object.defineProperty({}, 'a', { get: fail }) as { a: 1 }
    expect(() => readOptions('options', given, ['a'])).toThrow("'options' cannot be read: no")
    expect(() => readOptions('options', untouchable as { a: 1 }, ['a'])).toThrow(invalid)
  })
})

test('an error of ours passes as it is', () => {
  const refuse = () => {
    throw new InvalidIdError('key', 'is empty')
  }
  expect(() => readArgument('options', refuse)).toThrow(expect.objectContaining({ code: 'invalid_id' }))
})

test('whatever is thrown can be asked whether it is ours, and be told', () => {
  for (const thrown of [untouchable, null, undefined, 5, Symbol('x'), Object.create(null)]) {
    expect(PerdureError.isInstance(thrown)).toBe(false)
    expect(typeof thrownText(thrown)).toBe('string')
  }
})

test('a value is shown shortly, and nothing of it is called', () => {
  expect(shown('x'.repeat(1_000))).toBe(`${'x'.repeat(100)}… (1000 characters)`)
  const shownValues = [null, 5n, Symbol('s'), untouchable, fail].map((value) => shown(value))
  expect(shownValues).toEqual(['null', '5', 'Symbol(s)', 'an object', 'a function'])
})

test('a signal is one of the platform', () => {
  expect(() => checkSignal('signal', new AbortController().signal)).not.toThrow()
  for (const given of [5, {}, untouchable]) expect(() => checkSignal('signal', given)).toThrow(invalid)
})
