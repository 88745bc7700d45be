import { expect, test } from 'vitest'
import { checkPaid, mcpKills } from './mcp-kills.ts'

test('client and server killed between input_required and its answer lose nothing, and do nothing twice', {
  timeout: 90_000,
}, async () => {
  expect((await mcpKills({ seed: 3, rounds: 3 })).violations).toEqual([])
})

test('each request is judged by itself: what one is paid too much does not make up for another', () => {
  const requests = new Map([
    ['c0', false],
    ['c1', false],
    ['c2', true],
  ])
  expect(checkPaid(['c0', 'c1', 'c2'], requests)).toEqual([])
  expect(checkPaid(['c0', 'c1'], requests)).toEqual([])
  expect(checkPaid(['c0', 'c0', 'c2'], requests)).toEqual([
    'c0: the refund was paid 2 times',
    'c1: the answer was lost',
  ])
  expect(checkPaid(['c0', 'c1', 'c2', 'c2', 'none'], requests)).toEqual([
    'c2: the refund was paid 2 times',
    'refunds that were not asked for: none',
  ])
})
