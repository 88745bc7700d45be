import { expect, test } from 'vitest'
import { called, continued, replied, resolved, said, stateOf, suspended } from '../../test/log/story.ts'
import type { NewEvent, Resolution } from '../log/events.ts'
import { changeFor, rowStatus } from './change.ts'

const calling = stateOf([said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { gated: true })])

function change(events: NewEvent[], from = calling) {
  return changeFor(events, continued(from, events))
}

test('events without rows of their own change only the log', () => {
  const events = [said('t2')]
  expect(change(events)).toEqual({ events })
})

test('a suspension comes with the row of its call, and the arguments it has by then', () => {
  const edited = { before: { cents: 5 }, after: { cents: 4 } }
  const approval = suspended('c1', 'approval', { prompt: { ask: 'sure?' }, expiresInMs: 9 })
  const row = {
    id: 'c1',
    name: 'refund',
    executor: 'server',
    kind: 'approval',
    prompt: { ask: 'sure?' },
    notice: null,
    expiresInMs: 9,
  }
  expect(change([approval])).toEqual({ events: [approval], calls: [{ ...row, args: { cents: 5 }, round: 1 }] })
  const again = suspended('c1', 'elicitation', { round: 2 })
  const answered = continued(calling, [approval, resolved('c1', 'approval', 'resolved', { value: true, edited })])
  expect(change([again], answered).calls).toMatchObject([{ args: { cents: 4 }, round: 2, kind: 'elicitation' }])
})

test('a suspension of no call is a fault', () => {
  expect(() => changeFor([suspended('c7', 'approval')], calling)).toThrow("suspension of 'c7' without its call")
})

test('a resolution ends the row of its round, and a title is the title of the conversation', () => {
  const asked = continued(calling, [suspended('c1', 'approval')])
  const denied = resolved('c1', 'approval', 'denied', { value: 'no' })
  const titled: NewEvent = { type: 'titled', content: { title: 'A refund' } }
  expect(change([denied, titled], asked)).toEqual({
    events: [denied, titled],
    resolve: [{ callId: 'c1', round: 1, status: 'denied', result: 'no' }],
    conversation: { title: 'A refund' },
  })
})

test('a row is errored when what answered it says so, and otherwise as it was resolved', () => {
  const status = (kind: Resolution['kind'], value: Resolution['value'], status: Resolution['status'] = 'resolved') =>
    rowStatus({ callId: 'c1', round: 1, who: 'ann', kind, status, value })
  const error = { ok: false, error: 'no' }
  expect(status('client_exec', error)).toBe('errored')
  expect(status('sub_agent', error)).toBe('errored')
  expect(status('sub_agent', { ok: true, result: 1 })).toBe('resolved')
  expect(status('client_exec', { error: 'no' })).toBe('resolved')
  expect(status('client_exec', null)).toBe('resolved')
  expect(status('client_exec', 'no')).toBe('resolved')
  expect(status('elicitation', error)).toBe('resolved')
  expect(status('sub_agent', error, 'cancelled')).toBe('cancelled')
})
