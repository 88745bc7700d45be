import { expect, test } from 'vitest'
import { appendDelta, type DeltaEvent } from './live-events.ts'
import type { Draft } from './view.ts'

const place = { conversationId: 'c1', seq: 1, turnId: 't1' }

function said(n: number, delta: string, rest: { messageId?: string; part?: string } = {}): DeltaEvent {
  return { type: 'text_delta', ...place, messageId: 'm1', part: 'text-0', n, delta, ...rest }
}

function written(events: readonly DeltaEvent[]): readonly Draft[] {
  return events.reduce<readonly Draft[]>(appendDelta, [])
}

test('deltas of one text make one part, and the next text another', () => {
  const drafts = written([said(1, 'On'), said(2, 'ce'), said(3, 'Twice', { part: 'text-1' })])
  expect(drafts).toEqual([
    {
      turnId: 't1',
      messageId: 'm1',
      n: 3,
      parts: [
        { type: 'text', part: 'text-0', text: 'Once' },
        { type: 'text', part: 'text-1', text: 'Twice' },
      ],
    },
  ])
})

test('reasoning and the input of calls are parts of their own', () => {
  const thought: DeltaEvent = { ...said(1, 'hm'), type: 'reasoning_delta', part: 'reasoning-0' }
  const input: DeltaEvent = { ...said(2, '{}'), type: 'tool_input_delta', callId: 'k1', name: 'look' }
  expect(written([thought, input])[0]?.parts).toEqual([
    { type: 'reasoning', part: 'reasoning-0', text: 'hm' },
    { type: 'tool_input', part: 'k1', text: '{}', name: 'look' },
  ])
})

test('a delta that is there already, or that follows one that is not, changes nothing', () => {
  const drafts = written([said(1, 'On'), said(2, 'ce')])
  for (const n of [0, 1, 2, 4, 9]) expect(appendDelta(drafts, said(n, 'x'))).toBe(drafts)
  expect(appendDelta([], said(2, 'ce'))).toEqual([])
})

test('messages are written side by side', () => {
  const drafts = written([said(1, 'a'), said(1, 'b', { messageId: 'm2' }), said(2, 'a')])
  expect(drafts.map(({ messageId, n }) => [messageId, n])).toEqual([
    ['m1', 2],
    ['m2', 1],
  ])
})
