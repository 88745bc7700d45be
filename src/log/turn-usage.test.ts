import { expect, test } from 'vitest'
import { called, replied, resolved, said, stateOf, suspended } from '../../test/log/story.ts'
import type { Json } from '../base/json.ts'
import type { NewEvent, Usage } from './events.ts'
import { tokensUsed, usageOf } from './state.ts'

const all = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, reasoningTokens: 5 }

function turnWith(value: Json, kind: 'sub_agent' | 'client_exec' = 'sub_agent') {
  const events = [
    said('t1'),
    replied('t1', 'm1', 1, { calls: ['c1'], usage: all }),
    ...[called('c1', { executor: kind === 'sub_agent' ? 'agent' : 'client' }), suspended('c1', kind)],
    ...[resolved('c1', kind, 'resolved', { value }), replied('t1', 'm2', 5, { usage: { inputTokens: 10 } })],
  ]
  return stateOf(events).turns[0]!
}

test('a turn has used what its messages have and what its child agents say they have', () => {
  const turn = turnWith({ ok: true, usage: { ...all, other: 9 } })
  expect(usageOf(turn)).toEqual({
    ...{ inputTokens: 12, outputTokens: 4, cacheReadTokens: 6, cacheWriteTokens: 8, reasoningTokens: 10 },
  })
  expect(tokensUsed(turn)).toBe(16)
  expect(tokensUsed(stateOf([said('t1')]).turns[0]!)).toBe(0)
})

test('usage in a result that is not a child’s, or not a number, does not count', () => {
  const own = { ...all, inputTokens: 11 }
  expect(usageOf(turnWith({ ok: true, usage: all }, 'client_exec'))).toEqual(own)
  for (const usage of [null, 7, [all], { inputTokens: -1 }, { inputTokens: 0.5 }, { inputTokens: '1' }])
    expect(usageOf(turnWith({ ok: true, usage } as Json))).toEqual(own)
  for (const value of [null, 'text', [{ usage: all }]]) expect(usageOf(turnWith(value as Json))).toEqual(own)
  expect(usageOf(turnWith({ usage: { inputTokens: 0 } }))).toEqual(own)
})

test('usage of items that were left out is still counted', () => {
  const turn = { ...turnWith(null), leftOut: { usage: { inputTokens: 100, outputTokens: 100 } } } as never
  expect(usageOf(turn)).toMatchObject({ inputTokens: 111, outputTokens: 102 })
})

test('usage of attempts that broke off is counted, once, also where the first items are left out', () => {
  const discarded = (messageId: string, usage: Usage): NewEvent => ({
    type: 'attempt_discarded',
    content: { turnId: 't1', messageId, model: { provider: 'p', modelId: 'm' }, usage, code: 'model_interrupted' },
  })
  const events = [
    said('t1'),
    ...[discarded('m0', { inputTokens: 7 }), discarded('m1', { inputTokens: 7, outputTokens: 2 })],
    replied('t1', 'm2', 1, { usage: { inputTokens: 10 } }),
  ]
  const [turn] = stateOf(events).turns
  expect(turn!.discarded).toEqual({ attempts: 2, usage: { inputTokens: 14, outputTokens: 2 } })
  expect(usageOf(turn!)).toEqual({ inputTokens: 24, outputTokens: 2 })
  expect(tokensUsed({ ...turn!, leftOut: { usage: { inputTokens: 1 }, messages: 1 } })).toBe(27)
})
