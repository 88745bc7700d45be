import { expect, test } from 'vitest'
import type { FlowOp, LogEvent, NewEvent } from './events.ts'
import { FlowQuestions, flowCallId, schemaOf, seqOfFlowCall } from './flow-questions.ts'

const opened = (position: number, op: FlowOp): NewEvent => ({
  type: 'flow_opened',
  content: { position, op, asked: position },
})
const outcome = (position: number, value: string): NewEvent => ({
  type: 'flow_outcome',
  content: { position, ok: true, value },
})
const ask = (tag: string): FlowOp => ({ kind: 'suspend', tag })
const now: FlowOp = { kind: 'now' }
const started: NewEvent = { type: 'flow_started', content: { flow: 'f', version: '1', input: null, who: 'ann' } }
const continued: NewEvent = { type: 'flow_continued', content: { version: '1', input: null } }
const ended: NewEvent = { type: 'flow_ended', content: { status: 'done', result: null } }

function told(...events: NewEvent[]) {
  const questions = new FlowQuestions()
  const placed = events.map((event, index): LogEvent => {
    return { ...event, conversationId: 's', seq: index + 1, at: 100 + index }
  })
  const changes = placed.flatMap((event) => questions.event(event))
  return {
    changes: changes.map(({ seq, end }) => [seq, end?.status ?? 'asked', end?.at ?? null]),
    open: questions.open().map(({ seq }) => seq),
  }
}

test('a question waits from where it was asked until its outcome; other operations ask nothing', () => {
  expect(told(started, opened(1, now), opened(2, ask('a')), outcome(1, 'x'))).toEqual({
    ...{ changes: [[3, 'asked', null]], open: [3] },
  })
  expect(told(started, opened(1, ask('a')), opened(2, ask('b')), outcome(1, 'x'), outcome(1, 'y'))).toEqual({
    changes: [
      [2, 'asked', null],
      [3, 'asked', null],
      [2, 'resolved', 103],
    ],
    open: [3],
  })
})

test('the end of a session and a fresh record cancel what is open, and positions count anew', () => {
  expect(told(started, opened(1, ask('a')), continued, opened(1, ask('b')), ended, opened(2, ask('c')))).toEqual({
    changes: [
      [2, 'asked', null],
      [2, 'cancelled', 102],
      [4, 'asked', null],
      [4, 'cancelled', 104],
    ],
    open: [],
  })
})

test('what the fold of a session ignores asks nothing', () => {
  expect(told(started, opened(2, ask('a')), opened(1, ask('b')), opened(1, ask('c'))).open).toEqual([3])
})

test('the id of a row has the session and the seq, however long the session is named', () => {
  for (const session of ['s', 'a:7', 'x'.repeat(255), 'flow:s:2']) {
    const callId = flowCallId(session, 12)
    expect(Buffer.byteLength(callId)).toBeLessThanOrEqual(255)
    expect(seqOfFlowCall(session, callId)).toBe(12)
    expect(seqOfFlowCall('another', callId)).toBe(null)
  }
  for (const other of ['', 'flow:s:', 'flow:s:x', 'flow:s:1.5', 'flow:s:07', '0197f0a3-0000']) {
    expect(seqOfFlowCall('s', other)).toBe(null)
  }
})

test('a request takes any answer, and so does a suspension without a schema', () => {
  expect(schemaOf({ kind: 'request', request: 'pay', payload: 1 })).toBe(null)
  expect(schemaOf({ kind: 'suspend', tag: 1 })).toBe(null)
  expect(schemaOf({ kind: 'suspend', tag: 1, schema: { type: 'string' } })).toEqual({ type: 'string' })
})
