import { expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { canonicalText, maxLevels, StepBudget, stepsOfText, TooComplex } from './step-budget.ts'

function written(value: Json): [text: string, steps: number] {
  const steps = new StepBudget(1_000_000)
  return [canonicalText(value, steps), steps.taken]
}

test('the text of a value does not depend on the order of its keys, and costs steps by its size', () => {
  expect(written(null)).toEqual(['null', 1])
  expect(written(12)).toEqual(['12', 1])
  expect(written('a')).toEqual(['"a"', 2])
  expect(written('a'.repeat(16))).toEqual([`"${'a'.repeat(16)}"`, 4])
  expect(written([])).toEqual(['[]', 5])
  expect(written([1, 2])).toEqual(['[1,2,]', 9])
  expect(written({})).toEqual(['{}', 10])
  expect(written({ b: 1, a: 2 })).toEqual(['{"a":2,"b":1,}', 26])
  expect(written({ a: 2, b: 1 })).toEqual(['{"a":2,"b":1,}', 26])
  expect(written({ ['k'.repeat(32)]: true })).toEqual([`{"${'k'.repeat(32)}":true,}`, 20])
})

test('a value may be nested five hundred levels deep', () => {
  const nested = (levels: number, open: string, close: string) =>
    JSON.parse(open.repeat(levels) + (open === '[' ? '' : '1') + close.repeat(levels)) as Json
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    expect(written(nested(maxLevels, open, close))[1]).toBeGreaterThan(maxLevels)
    expect(() => written(nested(maxLevels + 2, open, close))).toThrow(
      new TooComplex('a value is nested deeper than 500 levels'),
    )
  }
})

test('a budget may be taken whole, and not one step more', () => {
  const steps = new StepBudget(1_000)
  steps.take(400)
  steps.take(600)
  expect(steps.taken).toBe(1_000)
  expect(() => steps.take(1)).toThrow(new TooComplex('it takes more than 1,000 steps'))
})

test('a text costs a step, and one for each sixteen characters', () => {
  expect([0, 15, 16, 31, 32].map((length) => stepsOfText('x'.repeat(length)))).toEqual([1, 1, 2, 2, 3])
})
