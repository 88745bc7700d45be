import fc from 'fast-check'
import { expect, test } from 'vitest'
import { keepByKey, keepIdentity } from './keep-identity.ts'

test('what is equal is the object from before, and what is not is as it should be', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const copy = structuredClone(one)
      expect(keepIdentity(one, copy)).toBe(one)
      const next = { same: copy, changed: other }
      const kept = keepIdentity({ same: one, changed: one }, next)
      expect(kept).toEqual(next)
      expect(kept.same).toBe(one)
    }),
  )
})

test('a key that objects inherit is one like any other', () => {
  const before = JSON.parse('{"args":{"__proto__":{"a":1},"toString":1}}')
  expect(keepIdentity(before, structuredClone(before))).toBe(before)
  const next = JSON.parse('{"args":{"__proto__":{"a":2},"valueOf":1}}')
  const kept = keepIdentity(before, next)
  expect(JSON.stringify(kept)).toBe(JSON.stringify(next))
  expect(Object.getPrototypeOf(kept.args)).toBe(Object.prototype)
})

test('a field that is gone or new makes another object', () => {
  const before = { a: 1, b: { c: 2 } }
  expect(keepIdentity(before, { a: 1 })).toEqual({ a: 1 })
  const more = keepIdentity(before, { a: 1, b: { c: 2 }, d: undefined })
  expect(more).not.toBe(before)
  expect(more.b).toBe(before.b)
})

test('items are found by their keys wherever they are in a list', () => {
  const before = [
    { id: 1, n: 1 },
    { id: 2, n: 2 },
  ]
  const kept = keepByKey(
    before,
    [
      { id: 0, n: 0 },
      { id: 1, n: 1 },
      { id: 2, n: 3 },
    ],
    ({ id }) => id,
  )
  expect(kept[1]).toBe(before[0])
  expect(kept[2]).toEqual({ id: 2, n: 3 })
  expect(keepByKey(before, structuredClone(before), ({ id }) => id)).toBe(before)
})
