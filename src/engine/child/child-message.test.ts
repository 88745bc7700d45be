import { expect, test } from 'vitest'
import { turnRef } from '../turn/audit.ts'
import { childMessage } from './child-calls.ts'

const told = (args: Parameters<typeof childMessage>[0]) => (childMessage(args).parts[0] as { text: string }).text

test('a child is told the one text of its arguments, or all of them as JSON', () => {
  expect(told('go')).toBe('go')
  expect(told({ task: 'go' })).toBe('go')
  expect(told({ task: 'go', n: 1 })).toBe('{"task":"go","n":1}')
  expect(told({ n: 1 })).toBe('{"n":1}')
  expect(told({})).toBe('{}')
  expect(told(null)).toBe('null')
  expect(told(7)).toBe('7')
})

test('a text of blanks alone is told as JSON', () => {
  expect(told(' ')).toBe('" "')
  expect(told({ task: '\n' })).toBe('{"task":"\\n"}')
})

test('the model calls of a turn are named so that they sort by step', () => {
  expect([turnRef('t1', 0), turnRef('t1', 12), turnRef('t1', -1)]).toEqual(['t1/0000', 't1/0012', 't1/0000'])
})
