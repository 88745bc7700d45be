import { describe, expect, test } from 'vitest'
import { toJson, toJsonObject } from './message-draft.ts'

describe('toJson', () => {
  test('copies plain JSON', () => {
    const value = { a: [1, 'x', null, true], b: { c: {} } }
    expect(toJson(value)).toEqual(value)
    expect(toJson(value)).not.toBe(value)
  })

  test.each([
    ['undefined', undefined],
    ['a function', () => {}],
    ['a symbol', Symbol('x')],
    ['a bigint', 1n],
    ['a cycle', cycle()],
    [
      'what throws when it is read',
      {
        get x() {
          throw new Error('no')
        },
      },
    ],
    ['what is nested without end', nested(100_000)],
    ['what is nested deeper than the log takes', nested(300)],
  ])('has nothing for %s', (_, value) => {
    expect(toJson(value)).toBeUndefined()
  })

  test('leaves out the members that JSON cannot hold', () => {
    expect(toJson({ a: undefined, b: () => {}, c: Number.NaN, d: new Date(0) })).toEqual({
      c: null,
      d: '1970-01-01T00:00:00.000Z',
    })
  })

  test('keeps a __proto__ key as a key', () => {
    const copy = toJson(JSON.parse('{"__proto__":{"polluted":true}}'))
    expect(Object.keys(copy as object)).toEqual(['__proto__'])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test.each([[[]], ['x'], [null], [undefined]])('an object is wanted, and %j is none', (value) => {
    expect(toJsonObject(value)).toBeUndefined()
  })
})

function cycle(): object {
  const value: { self?: object } = {}
  value.self = value
  return value
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = [value]
  return value
}
