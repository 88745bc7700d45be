import { expect, test } from 'vitest'
import type { LogEvent, NewEvent } from '../../../src/log/events.ts'
import { checkCalls } from './check-calls.ts'
import { checkRepeats } from './check-repeats.ts'

const assistant = { seen: 1, model: { provider: 'p', modelId: 'm' }, usage: {}, finishReason: 'stop' as const }

/** A turn whose refund ran, in the log of its conversation. */
function refunded(turnId: string, key: string): NewEvent[] {
  const callId = `call of ${turnId}`
  const decided = { gated: false, ifInterrupted: 'report' as const, timeoutMs: null, expiresInMs: null }
  return [
    { type: 'user_msg', content: { turnId, message: { parts: [] }, options: {}, who: 'ann', key } },
    {
      type: 'assistant_msg',
      content: {
        ...assistant,
        ...{ turnId, messageId: `message of ${turnId}`, parts: [{ type: 'call', callId }], status: 'complete' },
      },
    },
    {
      type: 'tool_call',
      content: { turnId, callId, providerCallId: callId, name: 'refund', args: {}, executor: 'server', ...decided },
    },
    { type: 'tool_started', content: { callId, attempt: 1 } },
    { type: 'tool_result', content: { callId, ok: true, result: 'refund done' } },
    { type: 'turn_ended', content: { turnId, status: 'completed', reason: null } },
  ]
}

const logOf = (events: readonly NewEvent[]): LogEvent[] =>
  events.map((event, index) => ({ ...event, seq: index + 1, at: 0 }) as LogEvent)

const effect = (turnId: string) => ({ id: 'c1', tool: 'refund', callId: `call of ${turnId}` })

const replaced = logOf([
  ...refunded('t1', 'refund me'),
  { type: 'superseded', content: { fromSeq: 1, by: 't2' } },
  ...refunded('t2', 'again'),
])
const both = [effect('t1'), effect('t2')]

test('a turn that was replaced without force is found, with what its tools did twice', () => {
  expect(checkRepeats(replaced, both, new Set(['refund me']))).toEqual([
    'refund was started, and its turn was replaced unforced',
    'refund had 2 effects in variants of one turn, 0 of them forced',
  ])
})

test('an effect for each forced replacement is allowed, and no other', () => {
  const forced = new Set(['again'])
  expect(checkRepeats(replaced, both, forced)).toEqual([])
  expect(checkRepeats(replaced, [...both, effect('t1')], forced)).toEqual([
    'refund had 3 effects in variants of one turn, 1 of them forced',
  ])
})

test('two turns that stand beside each other may both refund', () => {
  const log = logOf([...refunded('t1', 'refund me'), ...refunded('t2', 'again')])
  expect(checkRepeats(log, both, new Set())).toEqual([])
})

test('a call of a turn that was withdrawn is checked like any other', () => {
  expect(checkCalls(replaced, both, new Set())).toEqual([])
  expect(checkCalls(replaced, [...both, effect('t1')], new Set())).toEqual([
    'call of refund: it ran 2 times and must run once at most',
  ])
  expect(checkCalls(replaced, [effect('t2')], new Set())).toEqual(['call of refund: it has a result and never ran'])
})
