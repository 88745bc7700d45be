import { expect, test } from 'vitest'
import { halt, isHalt, isRegenerate, regenerate } from './create-hook.ts'

test('a verdict says why, and shows the message only where it is told to', () => {
  expect(halt('no')).toEqual({ type: 'halt', reason: 'no' })
  expect(halt('no', { show: false })).toEqual({ type: 'halt', reason: 'no' })
  expect(halt('no', { show: true })).toEqual({ type: 'halt', reason: 'no', show: true })
  expect(regenerate('better')).toEqual({ type: 'regenerate', feedback: 'better' })
  expect([Object.isFrozen(halt('no')), Object.isFrozen(regenerate('better'))]).toEqual([true, true])
})

test('what is wrong with one is named', () => {
  expect(() => halt(7 as never)).toThrow("'reason' must be a string")
  expect(() => halt('no', { shown: true } as never)).toThrow("unknown key 'shown'")
  expect(() => halt('no', { show: 1 } as never)).toThrow("'show' must be true or false")
  expect(() => regenerate(undefined as never)).toThrow("'feedback' must be a string")
})

test('a verdict is known by its type and its words', () => {
  expect([isHalt(halt('no')), isRegenerate(regenerate('better'))]).toEqual([true, true])
  for (const other of [null, undefined, 'halt', {}, { type: 'halt' }, { type: 'other', reason: 'no' }])
    expect(isHalt(other)).toBe(false)
  for (const other of [null, halt('no'), { type: 'regenerate' }, { type: 'other', feedback: 'better' }])
    expect(isRegenerate(other)).toBe(false)
})
