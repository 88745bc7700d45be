import { describe, expect, test } from 'vitest'
import { readFinish, readUsage } from './message-draft.ts'

describe('readUsage', () => {
  test('reads the counts of both specifications', () => {
    const usage = {
      inputTokens: { total: 100, noCache: 20, cacheRead: 70, cacheWrite: 10 },
      outputTokens: { total: 30, text: 10, reasoning: 20 },
      raw: { anything: true },
    }
    expect(readUsage(usage)).toEqual({
      inputTokens: 100,
      outputTokens: 30,
      cacheReadTokens: 70,
      cacheWriteTokens: 10,
      reasoningTokens: 20,
    })
  })

  test.each([
    ['undefined counts', { inputTokens: { total: undefined }, outputTokens: {} }, {}],
    ['bare totals', { inputTokens: 3, outputTokens: 4 }, { inputTokens: 3, outputTokens: 4 }],
    ['counts that are none', { inputTokens: { total: '3' }, outputTokens: { total: Number.NaN, reasoning: -1 } }, {}],
    ['parts of tokens', { inputTokens: 2.5, outputTokens: { total: 7.01 } }, { inputTokens: 3, outputTokens: 8 }],
    ['more than can be counted', { inputTokens: Number.POSITIVE_INFINITY, outputTokens: 2 ** 60 }, {}],
    ['nothing', undefined, {}],
    ['null', null, {}],
    ['a list', [1], {}],
  ])('takes %s', (_, usage, expected) => {
    expect(readUsage(usage)).toEqual(expected)
  })
})

describe('readFinish', () => {
  test.each([
    [
      { unified: 'stop', raw: 'end_turn' },
      { reason: 'stop', raw: 'end_turn' },
    ],
    [
      { unified: 'interrupted', raw: undefined },
      { reason: 'interrupted', raw: null },
    ],
    ['length', { reason: 'length', raw: null }],
    [undefined, { reason: 'other', raw: null }],
    [{ unified: 7 }, { reason: 'other', raw: null }],
  ])('reads the reason %j', (finishReason, expected) => {
    expect(readFinish({ finishReason })).toEqual({ ...expected, usage: {} })
  })
})
