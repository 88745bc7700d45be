import { expect, test } from 'vitest'
import {
  either,
  id,
  json,
  list,
  nullable,
  object,
  oneOf,
  optional,
  problemWith,
  simple,
  text,
  union,
  whole,
} from './field-check.ts'

const problem = (check: Parameters<typeof problemWith>[0], value: unknown) => problemWith(check, value, 'it')

test('texts, ids, numbers and choices are what they must be, or it is said what they are not', () => {
  expect([problem(text, ''), problem(id, 'a'), problem(whole(1), 1), problem(oneOf('a', true), true)]).toEqual([
    null,
    null,
    null,
    null,
  ])
  expect(problem(text, 7)).toBe("'it' must be a string, not 7")
  expect(problem(id, '')).toBe("'it' must be a string that is not empty, not ''")
  for (const value of [0, 1.5, '1', Number.NaN, 2 ** 53])
    expect(problem(whole(1), value)).toContain('a whole number of at least 1')
  expect(problem(oneOf('a', true), 'b')).toBe("'it' must be one of a, true, not 'b'")
  expect([problem(json, null), problem(json, undefined)]).toEqual([null, "'it' must be JSON, not missing"])
})

test('the wrong value is described, and a long text is cut', () => {
  const none = simple(() => false, 'be nothing')
  expect(problem(none, [1])).toBe("'it' must be nothing, not a list")
  expect(problem(none, {})).toBe("'it' must be nothing, not an object")
  expect(problem(none, null)).toBe("'it' must be nothing, not null")
  expect(problem(none, 'x'.repeat(40))).toBe(`'it' must be nothing, not '${'x'.repeat(40)}'`)
  expect(problem(none, 'x'.repeat(41))).toBe(`'it' must be nothing, not '${'x'.repeat(40)}…'`)
})

test('an object must have its fields; others are let through', () => {
  const check = object<{ a: string; b: number }>({ a: text, b: whole(0) })
  expect(problem(check, { a: '', b: 0, c: 1 })).toBe(null)
  expect(problem(check, { a: '', b: -1 })).toBe("'it.b' must be a whole number of at least 0, not -1")
  expect(problem(check, { b: 0 })).toBe("'it.a' must be a string, not missing")
  for (const value of [null, [], 'a', 7]) expect(problem(check, value)).toContain("'it' must be an object")
})

test('the tag of a union decides what else there must be', () => {
  const check = union('type', { a: object<{ n: number }>({ n: whole(0) }), b: object({}) })
  expect([problem(check, { type: 'a', n: 1 }), problem(check, { type: 'b' })]).toEqual([null, null])
  expect(problem(check, { type: 'a' })).toBe("'it.n' must be a whole number of at least 0, not missing")
  expect(problem(check, { type: 'c' })).toBe("'it.type' must be one of a, b, not 'c'")
  expect(problem(check, null)).toBe("'it' must be an object, not null")
  expect(problem(check, {})).toBe("'it.type' must be one of a, b, not missing")
})

test('a list says which member does not fit, and only lists are lists', () => {
  expect(problem(list(text), ['a', ''])).toBe(null)
  expect(problem(list(text), ['a', 7, 8])).toBe("'it[1]' must be a string, not 7")
  expect(problem(list(text), 'a')).toBe("'it' must be a list, not 'a'")
})

test('what is optional may be missing, what is nullable null, and one of two is enough', () => {
  expect([problem(optional(text), undefined), problem(optional(text), 'a'), problem(nullable(text), null)]).toEqual([
    null,
    null,
    null,
  ])
  expect(problem(optional(text), null)).toBe("'it' must be a string, not null")
  expect(problem(nullable(text), undefined)).toBe("'it' must be a string, not missing")
  expect([problem(either(text, whole(0)), 'a'), problem(either(text, whole(0)), 0)]).toEqual([null, null])
  expect(problem(either(text, whole(0)), null)).toContain('a whole number')
})
