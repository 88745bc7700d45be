import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../base/json.ts'
import { changedState, maxStateBytes, patchBetween, patched, pickKeys, stateBytes } from './app-state.ts'

const key = fc.constantFrom('a', 'b', 'é', '__proto__', '')
const values = fc.dictionary(key, fc.jsonValue(), { maxKeys: 5 }) as fc.Arbitrary<JsonObject>

test('the change between two states makes one of the other, and there is none between equals', () => {
  fc.assert(
    fc.property(values, values, (before, after) => {
      const patch = patchBetween(before, after)
      expect(patched(before, patch ?? { set: {}, remove: [] })).toEqual(after)
      expect(patchBetween(after, structuredClone(after))).toBeNull()
    }),
  )
})

test('the size that is counted change by change is that of the whole', () => {
  fc.assert(
    fc.property(values, values, fc.array(key, { maxLength: 3 }), (before, set, remove) => {
      const changed = changedState({ values: before, exposed: [] }, { patch: { set, remove }, exposed: [] })!
      expect(stateBytes(changed.values)).toBe(stateBytes({ ...changed.values }))
    }),
  )
})

test('a state may have exactly as many bytes as it may', () => {
  const frame = stateBytes({ a: '' })
  const at = (bytes: number) => ({ patch: { set: { a: 'x'.repeat(bytes - frame) }, remove: [] }, exposed: ['a'] })
  expect(changedState(undefined, at(maxStateBytes))).not.toBeNull()
  expect(changedState(undefined, at(maxStateBytes + 1))).toBeNull()
})

test('a key that a change both sets and removes is gone, and is not counted', () => {
  const changed = changedState(
    { values: { a: 1 }, exposed: [] },
    { patch: { set: { a: 2 }, remove: ['a'] }, exposed: [] },
  )
  expect(changed?.values).toEqual({})
  expect(stateBytes(changed!.values)).toBe(stateBytes({}))
})

test('only own keys are picked', () => {
  expect(pickKeys({ a: 1, b: 2 }, ['b', 'toString', 'c'])).toEqual({ b: 2 })
})
