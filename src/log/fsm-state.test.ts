import { expect, test } from 'vitest'
import { called, cancelled, ended, replied, said, started, stateOf, suspended } from '../../test/log/story.ts'
import type { NewEvent } from './events.ts'
import { type ConversationPhase, fsmStateOf, statusOf } from './fsm-state.ts'

const calls = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }), called('c1'), called('c2', { gated: true })]
const onlyPending = [said('t1'), replied('t1', 'm1', 1, { calls: ['c1'] }), called('c1', { gated: true })]

test.each<[string, NewEvent[], ConversationPhase, string[]]>([
  ['an empty log', [], 'idle', []],
  ['an open turn', [said('t1')], 'running', []],
  ['an ended turn', [said('t1'), ended('t1')], 'idle', []],
  ['an ended turn with another in the queue', [said('t1'), said('t2'), ended('t1')], 'running', []],
  ['a running call beside a pending one', [...calls, started('c1'), suspended('c2', 'approval')], 'running', ['c2']],
  ['a call that could start beside a pending one', [...calls, suspended('c2', 'approval')], 'running', ['c2']],
  ['nothing but pending calls', [...onlyPending, suspended('c1', 'approval')], 'awaiting_input', ['c1']],
  ['a cancel', [...onlyPending, suspended('c1', 'approval'), cancelled('t1')], 'terminating', ['c1']],
  ['a cancelled turn that has ended', [said('t1'), cancelled('t1'), ended('t1', 'cancelled')], 'idle', []],
])('the cached state of %s', (_, log, state, pending) => {
  expect(fsmStateOf(stateOf(log))).toEqual({ state, pending, lastSeq: log.length })
})

test.each([
  ['idle', 'idle'],
  ['running', 'active'],
  ['awaiting_input', 'suspended'],
  ['terminating', 'active'],
] as const)('%s is listed as %s', (phase, status) => {
  expect(statusOf(phase)).toBe(status)
})
