import { expect, test } from 'vitest'
import type { LogEvent, NewEvent } from '../log/events.ts'
import type { SpanRecord } from './span-record.ts'
import { turnSpans } from './turn-spans.ts'

const said = (turnId = 't', more: object = {}): NewEvent => ({
  type: 'user_msg',
  content: { turnId, message: { parts: [] }, options: {}, who: 'ann', ...more },
})
const answer = (seen: number, turnId = 't'): NewEvent => ({
  type: 'assistant_msg',
  content: {
    ...{ turnId, messageId: `m${seen}`, seen, parts: [], usage: {}, finishReason: 'stop', status: 'complete' as const },
    model: { provider: 'p', modelId: 'm' },
  },
})
const call = (callId: string, executor: 'server' | 'client' | 'human' = 'client'): NewEvent => ({
  type: 'tool_call',
  content: {
    ...{ turnId: 't', callId, providerCallId: callId, name: callId, args: {}, executor, gated: false },
    ...{ ifInterrupted: 'report' as const, timeoutMs: null, expiresInMs: null },
  },
})
const asks = (callId: string, kind: 'approval' | 'client_exec' | 'recovery' = 'client_exec'): NewEvent => ({
  type: 'suspension',
  content: { callId, round: 1, kind, prompt: null, schema: null, expiresInMs: null },
})
const told = (
  callId: string,
  kind: 'approval' | 'client_exec' | 'recovery' = 'client_exec',
  more: object = {},
): NewEvent => ({
  type: 'resolution',
  content: { callId, round: 1, kind, status: 'resolved', value: true, who: 'ann', ...more },
})
const started = (callId: string, attempt = 1): NewEvent => ({ type: 'tool_started', content: { callId, attempt } })
const result = (callId: string): NewEvent => ({ type: 'tool_result', content: { callId, ok: true, result: null } })
const ended: NewEvent = { type: 'turn_ended', content: { turnId: 't', status: 'completed', reason: null } }
const cancel: NewEvent = { type: 'cancel_requested', content: { turnId: 't', who: 'ann' } }

/** Each list is a commit, a second after the one before. */
function logOf(...commits: (readonly NewEvent[])[]): LogEvent[] {
  const placed = commits.flatMap((events, index) => events.map((event) => ({ event, at: (index + 1) * 1_000 })))
  return placed.map(({ event, at }, index) => ({ ...event, conversationId: 'c', seq: index + 1, at }))
}

function spansOf(events: readonly LogEvent[], heldFrom: number) {
  const ref = { tenant: 'acme', id: 'c' }
  const { work, beside, links } = turnSpans({
    ref,
    agent: 'a',
    turnId: 't',
    events,
    calls: [],
    heldFrom,
    content: false,
  })
  const line = ({ operation, name, startAt, endAt }: SpanRecord) =>
    `${operation} ${name} ${startAt / 1_000}-${endAt / 1_000}`
  return { work: work && [line(work), ...work.children.map(line)], beside: beside.map(line), links }
}

test('work before a rest that was told is not told again', () => {
  const events = logOf([said()], [answer(1), call('x'), asks('x')], [told('x')], [answer(5), ended])
  expect(spansOf(events, 5)).toMatchObject({
    work: ['invoke_agent a 3-4', 'chat m 3-4'],
    beside: ['wait_for_person x 2-3'],
  })
})

test('an answer that came before the owner let go was no rest: all of the turn is told', () => {
  const events = logOf([said()], [answer(1), call('x'), asks('x')], [told('x')], [answer(5), ended])
  expect(spansOf(events, 1)).toMatchObject({
    work: ['invoke_agent a 1-4', 'chat m 1-2', 'chat m 3-4'],
    beside: ['wait_for_person x 2-3'],
  })
})

test('of two questions, the work begins with the answer to the last', () => {
  const events = logOf(
    [said()],
    [answer(1), call('x'), call('y'), asks('x'), asks('y')],
    [told('x')],
    [told('y')],
    [answer(8), ended],
  )
  expect(spansOf(events, 8)).toMatchObject({
    work: ['invoke_agent a 4-5', 'chat m 4-5'],
    beside: ['wait_for_person x 2-3', 'wait_for_person y 2-4'],
  })
})

test('a tool that runs while another call waits is work, and the wait is beside it', () => {
  const events = logOf([said()], [answer(1), call('x'), call('y', 'server'), asks('x'), started('y')], [result('y')])
  expect(spansOf(events, 1)).toMatchObject({
    work: ['invoke_agent a 1-3', 'chat m 1-2', 'execute_tool y 2-3'],
    beside: [],
  })
})

test('a call that a person decided about after a crash is not part of the work after it', () => {
  const events = logOf(
    [said()],
    [answer(1), call('x', 'server'), started('x')],
    [asks('x', 'recovery')],
    [told('x', 'recovery')],
    [result('x')],
    [answer(7), ended],
  )
  expect(spansOf(events, 6)).toMatchObject({
    work: ['invoke_agent a 4-6', 'chat m 5-6'],
    beside: ['wait_for_person x 3-4', 'execute_tool x 2-5'],
  })
})

test('a cancel ends a rest, and events of other turns are not read', () => {
  const events = logOf(
    [said()],
    [answer(1), call('x'), asks('x')],
    [said('queued'), cancel],
    [told('x', 'client_exec', { status: 'cancelled' }), ended],
    [answer(8, 'queued')],
  )
  const spans = spansOf(events, 6)
  expect(spans.work?.[0]).toMatch(/^invoke_agent a 3-/)
  expect(spans.work).toHaveLength(1)
  expect(spans.beside).toEqual(['wait_for_person x 2-4'])
})

test('messages that join a turn are links, and a trace that is none is not', () => {
  const traceparent = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`
  const events = logOf(
    [said('t', { traceparent: traceparent('1') })],
    [said('t', { traceparent: traceparent('2') }), said('t', { traceparent: 'nonsense' })],
    [answer(3), ended],
  )
  expect(spansOf(events, 1).links).toEqual([traceparent('2')])
})

test('any prefix of a log, and one that lacks its beginning, gives spans that end after they begin', () => {
  const events = logOf(
    [said()],
    [answer(1), call('x'), call('y', 'server'), asks('x'), started('y')],
    [result('y'), told('x')],
    [answer(8), ended],
  )
  for (let from = 0; from < events.length; from++) {
    for (let to = from; to <= events.length; to++) {
      const ref = { tenant: 'acme', id: 'c' }
      const part = events.slice(from, to)
      const { work, beside } = turnSpans({
        ref,
        agent: 'a',
        turnId: 't',
        events: part,
        calls: [],
        heldFrom: 1,
        content: true,
      })
      for (const span of [...beside, ...(work ? [work, ...work.children] : [])]) {
        expect(span.endAt).toBeGreaterThanOrEqual(span.startAt)
      }
    }
  }
})
