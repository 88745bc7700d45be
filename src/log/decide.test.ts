import { expect, test } from 'vitest'
import {
  answer,
  called,
  cancelled,
  continued,
  draftCall,
  ended,
  failed,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import { type Decision, decide } from './decide.ts'
import type { NewEvent } from './events.ts'
import type { Outcome } from './settle.ts'

type Story = {
  readonly name: string
  readonly log: NewEvent[]
  readonly running?: string[]
  readonly outcomes: Outcome[]
  /** All in one commit. */
  readonly append: NewEvent[]
  readonly step: Decision['step']
}

const calling = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }), called('c1'), called('c2')]
const returned = (callId: string): Outcome => ({
  type: 'result',
  callId,
  attempt: 1,
  result: { ok: true, result: 'done' },
})

const stories: Story[] = [
  {
    name: 'a message and the end of its turn are one commit',
    log: [said('t1')],
    outcomes: [answer('m1', 1)],
    append: [replied('t1', 'm1', 1), ended('t1')],
    step: { type: 'park', state: 'idle' },
  },
  {
    name: 'a message and the end of its turn open the next one',
    log: [said('t1'), said('t2')],
    outcomes: [answer('m1', 1)],
    append: [replied('t1', 'm1', 1), ended('t1')],
    step: { type: 'model', turnId: 't2', step: 0 },
  },
  {
    name: 'a message, its calls, their starts and their suspensions are one commit',
    log: [said('t1')],
    outcomes: [answer('m1', 1, { calls: [draftCall('c1'), draftCall('c2', { gated: true })] })],
    append: [
      replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }),
      called('c1'),
      called('c2', { gated: true }),
      started('c1'),
      suspended('c2', 'approval'),
    ],
    step: { type: 'wait' },
  },
  {
    name: 'a message with nothing but calls that cannot be made goes straight to the next step',
    log: [said('t1')],
    outcomes: [answer('m1', 1, { calls: [draftCall('c1', { result: { ok: false, error: 'no such tool' } })] })],
    append: [replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1'), failed('c1', 'no such tool')],
    step: { type: 'model', turnId: 't1', step: 1 },
  },
  {
    name: 'results that come together are one commit',
    log: [...calling, started('c1'), started('c2')],
    running: ['c1', 'c2'],
    outcomes: [returned('c1'), returned('c2')],
    append: [succeeded('c1'), succeeded('c2')],
    step: { type: 'model', turnId: 't1', step: 1 },
  },
  {
    name: 'a result does not stop what still runs',
    log: [...calling, started('c1'), started('c2')],
    running: ['c1', 'c2'],
    outcomes: [returned('c1')],
    append: [succeeded('c1')],
    step: { type: 'wait' },
  },
  {
    name: 'a result that is in hand when the turn is cancelled stays out of the way of the cancel',
    log: [...calling, started('c1'), started('c2'), cancelled('t1')],
    running: ['c1', 'c2'],
    outcomes: [returned('c1'), { type: 'cancel', turnId: 't1' }],
    append: [
      succeeded('c1'),
      failed('c2', 'cancelled while it ran: its outcome is unknown; it may have taken effect', 'unknown'),
      ended('t1', 'cancelled'),
    ],
    step: { type: 'park', state: 'idle' },
  },
  {
    name: 'an approval starts its call',
    log: [
      ...calling.with(3, called('c2', { gated: true })),
      started('c1'),
      succeeded('c1'),
      suspended('c2', 'approval'),
      resolved('c2', 'approval'),
    ],
    outcomes: [],
    append: [started('c2')],
    step: { type: 'wait' },
  },
  {
    name: 'a queued turn that was cancelled ends with the message of the open one',
    log: [said('t1'), said('t2'), cancelled('t2')],
    outcomes: [answer('m1', 1)],
    append: [replied('t1', 'm1', 1), ended('t2', 'cancelled'), ended('t1')],
    step: { type: 'park', state: 'idle' },
  },
  {
    name: 'nothing in hand and nothing to do is no commit',
    log: [said('t1')],
    outcomes: [],
    append: [],
    step: { type: 'model', turnId: 't1', step: 0 },
  },
]

test.each(stories)('$name', ({ log, running = [], outcomes, append, step }) => {
  const state = stateOf(log)
  const decision = decide(state, new Set(running), outcomes)
  expect(decision.events).toEqual(append)
  expect(decision.step).toEqual(step)
  expect(decision.after.lastSeq).toBe(continued(state, append).lastSeq)
})
