import { expect, test } from 'vitest'
import { halt, isHalt, isRegenerate, isToolHalt, regenerate } from './create-hook.ts'

test('a verdict says why, and shows the message only where it is told to', () => {
  expect(halt('no')).toEqual({ type: 'halt', reason: 'no' })
  expect(halt('no', { show: false })).toEqual({ type: 'halt', reason: 'no' })
  expect(halt('no', { show: true })).toEqual({ type: 'halt', reason: 'no', show: true })
  expect(regenerate('better')).toEqual({ type: 'regenerate', feedback: 'better' })
  expect([Object.isFrozen(halt('no')), Object.isFrozen(regenerate('better'))]).toEqual([true, true])
})

test('a halt of a tool has the result of its call, also when that is undefined', () => {
  expect(halt('done', { result: 7 })).toEqual({ type: 'halt', reason: 'done', result: 7 })
  expect('result' in halt('done', { result: undefined })).toBe(true)
})

test('only what halt made ends a turn from a tool', () => {
  expect([isToolHalt(halt('no')), isToolHalt(halt('no', { result: 1 }))]).toEqual([true, true])
  for (const other of [null, undefined, 'halt', { ...halt('no') }, JSON.parse(JSON.stringify(halt('no')))])
    expect(isToolHalt(other)).toBe(false)
})

test('what is wrong with one is named', () => {
  expect(() => halt(7 as never)).toThrow("'reason' must be a string")
  expect(() => halt('no', { shown: true } as never)).toThrow("unknown key 'shown'")
  expect(() => halt('no', { show: 1 } as never)).toThrow("'show' must be true or false")
  expect(() => halt('no', { show: true, result: 1 } as never)).toThrow(/'show', which is for post-hooks/)
  expect(() => halt('x'.repeat(4_097))).toThrow("'reason' has 4097 bytes; at most 4096 are allowed")
  expect(halt('x'.repeat(4_096)).reason).toHaveLength(4_096)
  expect(() => regenerate(undefined as never)).toThrow("'feedback' must be a string")
})

test('a verdict is known by its type and its words', () => {
  expect([isHalt(halt('no')), isRegenerate(regenerate('better'))]).toEqual([true, true])
  for (const other of [null, undefined, 'halt', {}, { type: 'halt' }, { type: 'other', reason: 'no' }])
    expect(isHalt(other)).toBe(false)
  for (const other of [null, halt('no'), { type: 'regenerate' }, { type: 'other', feedback: 'better' }])
    expect(isRegenerate(other)).toBe(false)
})
