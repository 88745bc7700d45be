import { describe, expect, test } from 'vitest'
import {
  called,
  failed,
  replied,
  resolved,
  said,
  started,
  stateOf,
  succeeded,
  suspended,
} from '../../test/log/story.ts'
import type { Json } from '../base/json.ts'
import { type CallEnd, callEnd, callPhase, effectiveArgs } from './call-phase.ts'
import type { NewEvent, ToolCallContent } from './events.ts'
import { type CallState, findCall } from './state.ts'

describe('how a call ends', () => {
  test.each<[string, CallState, CallEnd]>([
    ['with its result', call({}, started('c1'), succeeded('c1')), { ok: true, result: 'done' }],
    [
      'with its error',
      call({}, started('c1'), failed('c1', 'broke', 'ran')),
      { ok: false, error: 'broke', outcome: 'ran' },
    ],
    ['denied', denied(null), { ok: false, error: 'tool call denied', userFacing: true }],
    [
      'denied with a reason',
      denied({ reason: 'too much' }),
      { ok: false, error: 'tool call denied: too much', userFacing: true },
    ],
    [
      'denied with a bare reason',
      denied('too much'),
      { ok: false, error: 'tool call denied: too much', userFacing: true },
    ],
    [
      'approved with a plain false',
      answered('approval', false),
      { ok: false, error: 'tool call denied', userFacing: true },
    ],
    ['expired', ended('expired'), { ok: false, error: 'tool call expired: no response', userFacing: true }],
    ['cancelled', ended('cancelled'), { ok: false, error: 'tool call cancelled', userFacing: true }],
    ['answered by a person', answered('elicitation', { size: 'M' }), { ok: true, result: { size: 'M' } }],
    ['answered by a person with nothing', answered('elicitation', null), { ok: true, result: null }],
    ['run by a client', answered('client_exec', { ok: true, result: 3 }), { ok: true, result: 3 }],
    [
      'failed in a client',
      answered('client_exec', { ok: false, error: 'gone' }),
      { ok: false, error: 'gone', userFacing: true },
    ],
    [
      'failed in a client, with more than a text',
      answered('client_exec', { ok: false, error: [1] }),
      { ok: false, error: '[1]', userFacing: true },
    ],
    ['run by a client that answers as it likes', answered('client_exec', { n: 3 }), { ok: true, result: { n: 3 } }],
    ['by a child agent', answered('sub_agent', { ok: true, result: 'hi' }), { ok: true, result: 'hi' }],
    ['failed in a child agent', answered('sub_agent', { ok: false, error: 'gone' }), { ok: false, error: 'gone' }],
  ])('%s', (_, state, end) => {
    expect(callEnd(state)).toEqual(end)
  })

  test.each(['denied', 'expired', 'cancelled'] as const)('a started call that is %s reads as unknown', (status) => {
    const state = call(
      { ifInterrupted: 'ask' },
      started('c1'),
      suspended('c1', 'recovery'),
      resolved('c1', 'recovery', status),
    )
    expect(callEnd(state)).toMatchObject({ ok: false, outcome: 'unknown' })
  })

  test('a result that comes after the end does not change it', () => {
    const state = call({}, started('c1'), succeeded('c1'), failed('c1', 'late'))
    expect(callEnd(state)).toEqual({ ok: true, result: 'done' })
  })

  test('an answer that comes after the end does not change it', () => {
    const state = call(
      { gated: true },
      suspended('c1', 'approval'),
      resolved('c1', 'approval', 'denied'),
      resolved('c1', 'approval'),
    )
    expect(callPhase(state).type).toBe('ended')
  })
})

describe('the arguments a call runs with', () => {
  test("are the model's", () => {
    expect(effectiveArgs(call({}))).toEqual({ cents: 5 })
  })

  test('are what a person made of them while approving', () => {
    const edited = { before: { cents: 5 }, after: { cents: 3 } }
    const state = call({ gated: true }, suspended('c1', 'approval'), resolved('c1', 'approval', 'resolved', { edited }))
    expect(effectiveArgs(state)).toEqual({ cents: 3 })
    expect(state.args).toEqual({ cents: 5 })
  })

  test('may be edited to null', () => {
    const edited = { before: { cents: 5 }, after: null }
    const state = call({ gated: true }, suspended('c1', 'approval'), resolved('c1', 'approval', 'resolved', { edited }))
    expect(effectiveArgs(state)).toBeNull()
  })
})

function denied(value: Json): CallState {
  return call({ gated: true }, suspended('c1', 'approval'), resolved('c1', 'approval', 'denied', { value }))
}

function ended(status: 'expired' | 'cancelled'): CallState {
  return call({ gated: true }, suspended('c1', 'approval'), resolved('c1', 'approval', status))
}

function answered(kind: 'approval' | 'elicitation' | 'client_exec' | 'sub_agent', value: Json): CallState {
  const executor = ({ approval: 'server', elicitation: 'human', client_exec: 'client', sub_agent: 'agent' } as const)[
    kind
  ]
  const gated = kind === 'approval'
  return call({ executor, gated }, suspended('c1', kind), resolved('c1', kind, 'resolved', { value }))
}

function call(options: Partial<ToolCallContent>, ...events: NewEvent[]): CallState {
  const log = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', options), ...events]
  return findCall(stateOf(log), 'c1')!.call
}
