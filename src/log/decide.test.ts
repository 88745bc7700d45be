import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { simulate } from '../../test/log/simulate.ts'
import { answer, called, cancelled, draftCall, placed, replied, said, started, stateOf } from '../../test/log/story.ts'
import { decide } from './decide.ts'
import type { NewEvent, TurnOptions } from './events.ts'
import { foldEvents } from './fold-events.ts'
import type { Outcome } from './settle.ts'

const none: ReadonlySet<string> = new Set()

/** The commit as a list of types, and the step after it. */
function decided(events: readonly NewEvent[], outcomes: readonly Outcome[] = [], running: ReadonlySet<string> = none) {
  const { events: added, step } = decide(stateOf(events), running, outcomes)
  return { commit: added.map((event) => event.type), step: step.type }
}

const result = (callId: string): Outcome => ({
  type: 'result',
  callId,
  attempt: 1,
  result: { ok: true, result: 'done' },
})

function calling(count: number, options: TurnOptions = {}): NewEvent[] {
  const ids = Array.from({ length: count }, (_, n) => `c${n + 1}`)
  return [
    said('t1', options),
    replied('t1', 'm1', 1, { calls: ids }),
    ...ids.map((id) => called(id)),
    ...ids.map((id) => started(id)),
  ]
}

describe('one commit holds everything that follows', () => {
  test('a message and the end of its turn', () => {
    expect(decided([said('t1')], [answer('m1', 1)])).toEqual({ commit: ['assistant_msg', 'turn_ended'], step: 'park' })
  })

  test('a message, its calls and their starts', () => {
    const outcome = answer('m1', 1, { calls: [draftCall('c1'), draftCall('c2')] })
    expect(decided([said('t1')], [outcome])).toEqual({
      commit: ['assistant_msg', 'tool_call', 'tool_call', 'tool_started', 'tool_started'],
      step: 'wait',
    })
  })

  test('a message, a call that waits for an answer, and one that does not', () => {
    const outcome = answer('m1', 1, { calls: [draftCall('c1', { gated: true }), draftCall('c2')] })
    expect(decided([said('t1')], [outcome])).toEqual({
      commit: ['assistant_msg', 'tool_call', 'tool_call', 'suspension', 'tool_started'],
      step: 'wait',
    })
  })

  test('a message whose only call waits for an answer, and parking', () => {
    const outcome = answer('m1', 1, { calls: [draftCall('c1', { executor: 'human' })] })
    expect(decided([said('t1')], [outcome])).toEqual({
      commit: ['assistant_msg', 'tool_call', 'suspension'],
      step: 'park',
    })
  })

  test('a call that could not be made, and the next model call', () => {
    const outcome = answer('m1', 1, { calls: [draftCall('c1', { result: { ok: false, error: 'no such tool' } })] })
    expect(decided([said('t1')], [outcome])).toEqual({
      commit: ['assistant_msg', 'tool_call', 'tool_result'],
      step: 'model',
    })
  })

  test('several results that are in hand at once', () => {
    const running = new Set(['c1', 'c2'])
    expect(decided(calling(2), [result('c1'), result('c2')], running)).toEqual({
      commit: ['tool_result', 'tool_result'],
      step: 'model',
    })
  })

  test('a result, and the start of a call that had to wait for its place', () => {
    const events = calling(2, { maxParallelCalls: 1 }).slice(0, -1)
    expect(decided(events, [result('c1')], new Set(['c1']))).toEqual({
      commit: ['tool_result', 'tool_started'],
      step: 'wait',
    })
  })

  test('the end of a turn and of the ones cancelled in the queue behind it, and the one that is next', () => {
    const events = [said('t1'), said('t2'), said('t3'), cancelled('t2')]
    expect(decided(events, [answer('m1', 1)])).toEqual({
      commit: ['assistant_msg', 'turn_ended', 'turn_ended'],
      step: 'model',
    })
  })
})

describe('no commit when', () => {
  test('a turn that has just begun asks the model', () => {
    expect(decided([said('t1')])).toEqual({ commit: [], step: 'model' })
  })

  test('a cancelled turn is terminated first, and outcomes at hand follow', () => {
    expect(decided([said('t1'), cancelled('t1')])).toEqual({ commit: [], step: 'terminate' })
    expect(decided([said('t1'), cancelled('t1')], [{ type: 'cancel', turnId: 't1' }])).toEqual({
      commit: ['turn_ended'],
      step: 'park',
    })
  })

  test('running calls are waited for; calls that no process runs were interrupted', () => {
    expect(decided(calling(1), [], new Set(['c1']))).toEqual({ commit: [], step: 'wait' })
    expect(decided(calling(1))).toEqual({ commit: ['tool_result'], step: 'model' })
  })

  test('an outcome that is in the log already leaves it as it is', () => {
    const events = [said('t1'), replied('t1', 'm1', 1)]
    expect(decided(events, [answer('m1', 1)])).toEqual({ commit: ['turn_ended'], step: 'park' })
  })
})

test('the state after it is the state its events fold to', () => {
  const before = stateOf([said('t1')])
  const { events, after } = decide(before, none, [answer('m1', 1, { calls: [draftCall('c1')] })])
  const folded = foldEvents(
    placed(events, before.lastSeq).map((event) => ({ ...event, conversationId: '', at: 0 })),
    before,
  )
  expect(after).toEqual(folded)
})

test('for any history cut anywhere, it decides something that is never a commit, and always the same', () => {
  fc.assert(
    fc.property(fc.noBias(fc.array(fc.nat(5_039), { minLength: 20, maxLength: 200, size: 'max' })), (tape) => {
      const { log } = simulate(tape)
      for (let at = 0; at <= log.length; at++) {
        const state = foldEvents(log.slice(0, at))
        const first = decide(state, none, [])
        expect(first.step.type).not.toBe('commit')
        expect(decide(state, none, [])).toEqual(first)
        // Once it is committed, there is nothing left to commit.
        expect(decide(first.after, new Set(callsStartedBy(first.events)), []).events).toEqual([])
      }
    }),
    { seed: 1, numRuns: 40 },
  )
})

function callsStartedBy(events: readonly NewEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'tool_started' ? [event.content.callId] : []))
}
