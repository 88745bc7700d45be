import { describe, expect, test } from 'vitest'
import type { FlowOp, LogEvent, NewEvent } from '../../log/events.ts'
import { answerableOps, foldFlow, openOps, parkedStatus, pendingOp, wakeTime } from './flow-state.ts'

const started: NewEvent = { type: 'flow_started', content: { flow: 'f', version: '1', input: 7, who: 'ann' } }
const opened = (position: number, op: FlowOp): NewEvent => ({
  type: 'flow_opened',
  content: { position, op, asked: position },
})
const settled = (position: number): NewEvent => ({ type: 'flow_outcome', content: { position, ok: true, value: null } })
const suspend: FlowOp = { kind: 'suspend', tag: 'wait' }
const step: FlowOp = { kind: 'step', name: 'work', input: null, ifInterrupted: 'rerun' }
const titled: NewEvent = { type: 'titled', content: { title: 'A' } }
const ofTheFuture = { type: 'from_the_future', content: {} } as unknown as NewEvent
const ended: NewEvent = { type: 'flow_ended', content: { status: 'done', result: 1 } }

function log(...events: NewEvent[]): LogEvent[] {
  return events.map((event, index) => ({ ...event, conversationId: 's1', seq: index + 1, at: 100 + index }))
}

describe('folding a session', () => {
  test('an empty log is no session', () => {
    expect(foldFlow([])).toBe(null)
  })

  test('gives the record, with place and time of everything in it', () => {
    expect(foldFlow(log(started, opened(1, step), settled(1), opened(2, suspend)))).toEqual({
      ...{ flow: 'f', version: '1', input: 7, who: 'ann', generation: 0, lastSeq: 4, ended: null },
      ops: [
        { position: 1, op: step, asked: 1, seq: 2, at: 101 },
        { position: 2, op: suspend, asked: 2, seq: 4, at: 103 },
      ],
      outcomes: [{ position: 1, ok: true, value: null, seq: 3, at: 102 }],
    })
  })

  test('goes on from a state folded before, and leaves it as it was', () => {
    const events = log(started, opened(1, step), settled(1), opened(2, suspend), settled(2), ended)
    for (let cut = 1; cut < events.length; cut++) {
      const base = foldFlow(events.slice(0, cut))
      const copy = structuredClone(base)
      expect(foldFlow(events, base)).toEqual(foldFlow(events))
      expect(base).toEqual(copy)
    }
  })

  test('begins again with a fresh record, in the version and with the input it was given', () => {
    const continued: NewEvent = { type: 'flow_continued', content: { version: '2', input: 8 } }
    expect(foldFlow(log(started, opened(1, step), continued, opened(1, suspend)))).toMatchObject({
      ...{ version: '2', input: 8, who: 'ann', generation: 1, outcomes: [] },
      ops: [{ position: 1, op: suspend }],
    })
  })

  test('is none where the log does not begin with a start', () => {
    expect(foldFlow(log(opened(1, step), started))).toBe(null)
  })

  test.each<[string, LogEvent[], string]>([
    ['has a gap', log(started, opened(1, step), settled(1)).toSpliced(1, 1), 'the log has a gap'],
    ['begins with a gap', log(titled, started).slice(1), 'the log has a gap'],
    ['has an event of a type that is not known', log(started, ofTheFuture), 'does not know'],
  ])('refuses a log that %s', (_, events, problem) => {
    expect(() => foldFlow(events)).toThrow(problem)
  })

  test.each<[string, NewEvent[], string]>([
    ['starts it again', [started], 'starts a session that has begun'],
    ['opens a position it has not come to', [opened(2, step)], 'opens position 2 after 0'],
    ['opens a position twice', [opened(1, step), opened(1, step)], 'opens position 1 after 1'],
    ['is an outcome of nothing', [settled(1)], 'settles position 1, which was not opened before it'],
    [
      'is a second outcome',
      [opened(1, step), settled(1), settled(1)],
      'settles position 1, which has an outcome already',
    ],
    ['comes after its end', [ended, opened(1, step)], 'comes after the end of the session'],
    [
      'is of a conversation',
      [{ type: 'seeded', content: { state: null } }],
      'is of a conversation, in the log of a session',
    ],
  ])('does not change by an event that %s', (_, events, why) => {
    const told: string[] = []
    const all = log(started, ...events)
    const before = foldFlow(all.slice(0, -1))!
    expect(foldFlow(all, null, (_event, problem) => told.push(problem))).toEqual({ ...before, lastSeq: all.length })
    expect(told).toEqual([why])
  })
})

describe('what a session waits for', () => {
  const stateOf = (...events: NewEvent[]) => foldFlow(log(started, ...events))!

  test('is what is open and can be answered, in the order it was asked for', () => {
    const request: FlowOp = { kind: 'request', request: 'book', payload: null }
    const state = stateOf(opened(1, suspend), opened(2, step), opened(3, request), settled(1))
    expect(openOps(state).map(({ position }) => position)).toEqual([2, 3])
    expect(answerableOps(state).map(({ position }) => position)).toEqual([3])
  })

  test.each<[string, NewEvent[], number | null]>([
    ['nothing while a step runs', [opened(1, suspend), opened(2, step)], null],
    ['the first suspension when nothing runs', [opened(1, suspend), opened(2, suspend)], 1],
    ['the suspension beside a sleep', [opened(1, { kind: 'sleep', ms: 5 }), opened(2, suspend)], 2],
    ['nothing while it only sleeps', [opened(1, { kind: 'sleep', ms: 5 })], null],
    ['nothing after its end', [opened(1, suspend), ended], null],
  ])('%s', (_, events, position) => {
    expect(pendingOp(stateOf(...events))?.position ?? null).toBe(position)
  })
})

test('a session sleeps while nothing but sleeps is open, until the first of them ends', () => {
  const sleep = (ms: number): FlowOp => ({ kind: 'sleep', ms })
  const stands = (...events: NewEvent[]) => {
    const state = foldFlow(log(started, ...events))!
    return [parkedStatus(state), wakeTime(state)]
  }
  const agent: FlowOp = { kind: 'agent', agent: 'a', id: null, message: 'hi' }
  expect(stands(opened(1, sleep(50)), opened(2, sleep(20)))).toEqual(['sleeping', 122])
  expect(stands(opened(1, sleep(50)), opened(2, step))).toEqual(['active', null])
  expect(stands(opened(1, sleep(50)), opened(2, agent))).toEqual(['active', null])
  expect(stands(opened(1, sleep(50)), opened(2, suspend))).toEqual(['suspended', null])
  expect(stands(opened(1, sleep(50)), settled(1))).toEqual(['active', null])
  expect(stands(ended)).toEqual(['ended', null])
  expect(stands({ type: 'flow_ended', content: { status: 'failed', error: 'x' } })).toEqual(['failed', null])
})
