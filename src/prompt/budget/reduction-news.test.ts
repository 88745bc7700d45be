import { expect, test } from 'vitest'
import { describeReduction, noReduction, type Reduction } from './reduce.ts'

const stubs = (...calls: string[]) =>
  new Map(calls.map((callId) => [callId, 'a stub'])) as unknown as Reduction['stubbed']
const summary = { toSeq: 5, version: 2, text: 'so far' }

test('what a reduction leaves out is told in its order, as far as it is new', () => {
  const before: Reduction = { ...noReduction, stubbed: stubs('c1') }
  const after: Reduction = { ...noReduction, stubbed: stubs('c1', 'c2', 'c3'), summary, windowFrom: 9 }
  expect(describeReduction(before, after)).toBe(
    'a reduction: 2 old results became stubs; version 2 of the summary is shown; turns before 9 were left out',
  )
  expect(describeReduction(after, { ...after, windowFrom: 12 })).toBe('a reduction: turns before 12 were left out')
  expect(describeReduction(after, { ...after, summary: { ...summary, toSeq: 7, version: 3 } })).toBe(
    'a reduction: version 3 of the summary is shown',
  )
  expect(describeReduction(noReduction, before)).toBe('a reduction: 1 old results became stubs')
})
