import { expect, test } from 'vitest'
import { tentative } from '../log/decide.ts'
import type { Executor, NewEvent } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { takeSnapshot } from './take-snapshot.ts'

const wrote = { seen: 1, model: { provider: 'p', modelId: 'm' }, usage: {}, finishReason: 'tool-calls' as const }

/** What a snapshot says of a call with these events. */
function told(executor: Executor, more: readonly NewEvent[] = []): unknown {
  const [turnId, callId] = ['t', 'c']
  const decided = { gated: false, ifInterrupted: 'ask' as const, timeoutMs: null, expiresInMs: null }
  const events: NewEvent[] = [
    { type: 'user_msg', content: { turnId, message: { parts: [] }, options: {}, who: 'ann' } },
    {
      type: 'assistant_msg',
      content: { ...wrote, turnId, messageId: 'm', parts: [{ type: 'call', callId }], status: 'complete' },
    },
    {
      type: 'tool_call',
      content: { turnId, callId, providerCallId: callId, name: 'refund', args: {}, executor, ...decided },
    },
    ...more,
  ]
  const { messages } = takeSnapshot({ state: foldEvents(tentative(events, 0)), origin: { summary: null } as never })
  const [part] = messages.at(-1)!.parts
  return part?.type === 'call' ? part.started : part
}

const started: NewEvent = { type: 'tool_started', content: { callId: 'c', attempt: 1 } }
const failed: NewEvent = { type: 'tool_result', content: { callId: 'c', ok: false, error: 'no' } }

test('a call that was started says what its tool says of an interrupted run, also when it has ended', () => {
  expect([told('server', [started]), told('server', [started, failed])]).toEqual(['ask', 'ask'])
})

test('a call that has not ended says the same, because it may be started after the snapshot', () => {
  expect([told('server'), told('client'), told('agent')]).toEqual(['ask', 'ask', 'ask'])
})

test('a call that ended before it was started, and one that a person answers, say that they never were', () => {
  expect([told('server', [failed]), told('human')]).toEqual([null, null])
})

test('a turn has its options as long as it may go on, and not once it has ended or is being cancelled', () => {
  const options = { maxSteps: 3 }
  const asked: NewEvent = { type: 'user_msg', content: { turnId: 't', message: { parts: [] }, options, who: 'ann' } }
  const cancelled: NewEvent = { type: 'cancel_requested', content: { turnId: 't', who: 'ann' } }
  const ended: NewEvent = { type: 'turn_ended', content: { turnId: 't', status: 'completed', reason: null } }
  const optionsAfter = (...events: NewEvent[]) =>
    takeSnapshot({ state: foldEvents(tentative(events, 0)), origin: { summary: null } as never }).turns[0]?.options
  expect(optionsAfter(asked)).toEqual(options)
  expect([optionsAfter(asked, cancelled), optionsAfter(asked, ended)]).toEqual([undefined, undefined])
})

test('an error that is meant for people is marked, so that pages show it after a restore', () => {
  const refused = (more: object): NewEvent[] => [
    { type: 'user_msg', content: { turnId: 't', message: { parts: [] }, options: {}, who: 'ann' } },
    {
      type: 'assistant_msg',
      content: { ...wrote, turnId: 't', messageId: 'm', parts: [{ type: 'call', callId: 'c' }], status: 'complete' },
    },
    {
      type: 'tool_call',
      content: {
        ...{ turnId: 't', callId: 'c', providerCallId: 'c', name: 'refund', args: {}, executor: 'server' },
        ...{ gated: false, ifInterrupted: 'ask', timeoutMs: null, expiresInMs: null },
      },
    },
    { type: 'tool_started', content: { callId: 'c', attempt: 1 } },
    { type: 'tool_result', content: { callId: 'c', ok: false, error: 'sold out', ...more } },
  ]
  const partOf = (events: readonly NewEvent[]) =>
    takeSnapshot({ state: foldEvents(tentative(events, 0)), origin: { summary: null } as never }).messages.at(-1)?.parts
  expect(partOf(refused({ userFacing: true }))).toMatchObject([
    { status: 'error', result: 'sold out', userFacing: true },
  ])
  expect(partOf(refused({}))?.[0]).not.toHaveProperty('userFacing')
})
