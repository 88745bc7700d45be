import { expect, test } from 'vitest'
import { answer, called, failed, replied, said, started, stateOf, succeeded } from '../../../test/log/story.ts'
import type { Outcome } from '../../log/settle.ts'
import { handOverEvents } from './pending-outcomes.ts'

const state = stateOf([
  said('t1'),
  replied('t1', 'm1', 1, { calls: ['c1', 'c2', 'c3', 'c4', 'c5'] }),
  called('c1'),
  called('c2'),
  called('c3', { ifInterrupted: 'rerun' }),
  called('c4'),
  called('c5', { ifInterrupted: 'ask' }),
  started('c1'),
  started('c2'),
  started('c3'),
  started('c5'),
])

test('results in hand are left to the next owner, and nothing else that is in hand', () => {
  const result: Outcome = { type: 'result', callId: 'c1', attempt: 1, result: { ok: true, result: 'done' } }
  expect(handOverEvents(state, [answer('m2', 5), result], [])).toEqual([succeeded('c1')])
})

test('a call that was stopped is recorded as its tool says: reported, asked about, or not at all', () => {
  const events = handOverEvents(state, [], ['c2', 'c3', 'c5'])
  expect(events.map(({ type, content }) => [type, (content as { callId: string }).callId])).toEqual([
    ['tool_result', 'c2'],
    ['suspension', 'c5'],
  ])
  expect(events[0]!.content).toMatchObject({ ok: false, outcome: 'unknown' })
})

test('a call that had not begun, has ended or is not known needs no record', () => {
  const over = stateOf([
    said('t1'),
    replied('t1', 'm1', 1, { calls: ['c1'] }),
    called('c1'),
    started('c1'),
    failed('c1', 'no'),
  ])
  expect(handOverEvents(state, [], ['c4', 'c9'])).toEqual([])
  expect(handOverEvents(over, [], ['c1'])).toEqual([])
})
