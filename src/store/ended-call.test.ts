import { expect, test } from 'vitest'
import { called, placed, replied, said, started, suspended } from '../../test/log/story.ts'
import type { Json } from '../base/json.ts'
import { callEnd, callPhase } from '../log/call-phase.ts'
import type { NewEvent, SuspensionKind } from '../log/events.ts'
import { foldEvents } from '../log/fold-events.ts'
import { findCall } from '../log/state.ts'
import { eventsOfEnd } from './change.ts'
import type { FinalStatus } from './records.ts'

const kinds = ['approval', 'elicitation', 'client_exec', 'sub_agent', 'recovery'] as const

/** The pending call of a log, ended with the first `upTo` events of `eventsOfEnd`. */
function callAfter(kind: SuspensionKind, status: FinalStatus, value: Json, upTo?: number) {
  const executor = { approval: 'server', elicitation: 'human', client_exec: 'client', sub_agent: 'agent' } as const
  const ran = kind === 'recovery'
  const asking: NewEvent[] = [
    said('t1'),
    replied('t1', 'm1', 1, { calls: ['c1'] }),
    called('c1', {
      executor: ran ? 'server' : executor[kind],
      gated: kind === 'approval',
      ifInterrupted: ran ? 'ask' : 'report',
    }),
    ...(ran ? [started('c1')] : []),
    suspended('c1', kind),
  ]
  const ending = eventsOfEnd({ callId: 'c1', round: 1, kind, status, value, who: 'ann' })
  return findCall(foldEvents(placed([...asking, ...ending.slice(0, upTo)])), 'c1')!.call
}

const reasons: [string, Json][] = [
  ['a text', 'boom'],
  ['an object with an error', { error: 'boom' }],
  ['an object with a reason', { reason: 'boom' }],
  ['an object with a message', { message: 'boom', code: 7 }],
  ['a failed result', { ok: false, error: 'boom' }],
]

test.each(kinds.flatMap((kind) => reasons.map(([what, value]) => [kind, what, value] as const)))(
  'errored, on %s with %s: the model reads the reason as an error',
  (kind, _, value) => {
    const end = callEnd(callAfter(kind, 'errored', value))
    expect(end).toMatchObject({ ok: false, error: kind === 'approval' ? 'tool call denied: boom' : 'boom' })
    expect(end?.outcome).toBe(kind === 'recovery' ? 'unknown' : undefined)
  },
)

test.each(kinds)('errored, on %s: nothing that grants, answers or runs it again gets through', (kind) => {
  const values: Json[] = [true, false, null, '', 'rerun', 'yes', 0, [], {}, { ok: true, result: 1 }, { result: 1 }]
  for (const value of values) {
    expect(callEnd(callAfter(kind, 'errored', value)), JSON.stringify(value)).toMatchObject({ ok: false })
    expect(callEnd(callAfter(kind, 'errored', value, 1)), JSON.stringify(value)).toMatchObject({ ok: false })
  }
})

test.each(kinds)('errored, on %s: the round is closed, and says by whom', (kind) => {
  expect(callAfter(kind, 'errored', 'boom').rounds).toMatchObject([{ resolution: { who: 'ann' } }])
})

const ends: [FinalStatus, Json, string][] = [
  ['denied', 'boom', 'tool call denied: boom'],
  ['denied', { reason: 'boom' }, 'tool call denied: boom'],
  ['denied', null, 'tool call denied'],
  ['expired', true, 'tool call expired: no response'],
  ['cancelled', true, 'tool call cancelled'],
]

test.each(kinds.flatMap((kind) => ends.map(([status, value, error]) => [status, kind, value, error] as const)))(
  '%s, on %s with %j: the call ends with an error',
  (status, kind, value, error) => {
    const end = callEnd(callAfter(kind, status, value))
    expect(end).toMatchObject({ ok: false, error })
    expect(end?.outcome).toBe(kind === 'recovery' ? 'unknown' : undefined)
  },
)

test.each([
  ['approval', true, { type: 'ready' }],
  ['approval', null, { type: 'ready' }],
  ['approval', false, { type: 'ended', end: { ok: false, error: 'tool call denied' } }],
  ['elicitation', { ok: false }, { type: 'ended', end: { ok: true, result: { ok: false } } }],
  ['client_exec', 'filled', { type: 'ended', end: { ok: true, result: 'filled' } }],
  ['client_exec', { ok: false, error: 'boom' }, { type: 'ended', end: { ok: false, error: 'boom' } }],
  ['sub_agent', { ok: true, result: 1 }, { type: 'ended', end: { ok: true, result: 1 } }],
  ['recovery', 'rerun', { type: 'ready' }],
  ['recovery', { result: 1 }, { type: 'recovered', end: { ok: true, result: 1 } }],
] as const)('resolved, on %s with %j: it is the answer', (kind, value, phase) => {
  expect(callPhase(callAfter(kind, 'resolved', value))).toMatchObject(phase)
})
