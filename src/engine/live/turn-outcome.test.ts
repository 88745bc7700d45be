import { expect, test } from 'vitest'
import { called, ended, regenerated, replied, said, started, stateOf, suspended } from '../../../test/log/story.ts'
import type { NewEvent } from '../../log/events.ts'
import { outcomeOf } from './turn-outcome.ts'

const outcome = (turnId: string, ...events: NewEvent[]) => outcomeOf('story', stateOf(events), turnId)
const usage = { inputTokens: 10, outputTokens: 5 }

test('a turn that runs, is queued, or is not there has none', () => {
  expect(outcome('t1', said('t1'))).toBeNull()
  expect(outcome('t2', said('t1'), said('t2'))).toBeNull()
  expect(outcome('t9', said('t1'))).toBeNull()
})

test('it waits only when nothing runs', () => {
  const calls = [
    said('t1'),
    replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }),
    called('c1', { gated: true }),
    called('c2'),
  ]
  const asked = suspended('c1', 'approval')
  expect(outcome('t1', ...calls, asked, started('c2'))).toBeNull()
  const waiting = [...calls.slice(0, 3), asked]
  expect(outcome('t1', ...waiting)).toMatchObject({ status: 'waiting', pending: [{ callId: 'c1', tool: 'refund' }] })
  expect(outcome('t2', ...waiting, said('t2'))).toBeNull()
})

test('an ended turn tells the text of its last message, the sum of its usage, and why it ended', () => {
  const events = [
    said('t1'),
    replied('t1', 'm1', 1, { usage, parts: [{ type: 'text', text: 'no' }] }),
    regenerated('m1'),
    replied('t1', 'm2', 3, {
      usage,
      parts: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'yes' },
      ],
    }),
  ]
  expect(outcome('t1', ...events, ended('t1'))).toEqual({
    status: 'completed',
    turnId: 't1',
    text: 'yes',
    finishReason: 'stop',
    reason: null,
    object: undefined,
    usage: { inputTokens: 20, outputTokens: 10 },
  })
  expect(outcome('t1', ...events, ended('t1', 'halted', 'max_steps'))).toMatchObject({
    status: 'halted',
    reason: 'max_steps',
  })
})

test('only a completed turn has an object', () => {
  const message = replied('t1', 'm1', 1, { object: { n: 1 } })
  expect(outcome('t1', said('t1'), message, ended('t1'))).toHaveProperty('object', { n: 1 })
  expect(outcome('t1', said('t1'), message, ended('t1', 'failed'))).not.toHaveProperty('object')
})

test('a turn without any message has an empty text', () => {
  expect(outcome('t1', said('t1'), ended('t1', 'cancelled'))).toMatchObject({
    status: 'cancelled',
    text: '',
    usage: {},
  })
})
