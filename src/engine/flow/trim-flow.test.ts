import { expect, test } from 'vitest'
import { weightOf } from '../../log/abridge.ts'
import type { LogEvent, NewEvent } from '../../log/events.ts'
import { foldFlow } from './flow-state.ts'
import { flowWeight, trimFlow } from './load-flow.ts'

const long = 'x'.repeat(10_000)
const events: NewEvent[] = [
  { type: 'flow_started', content: { flow: 'f', version: '1', input: 'in', who: 'ann' } },
  { type: 'flow_opened', content: { position: 1, op: { kind: 'suspend', tag: long }, asked: 1 } },
  { type: 'flow_outcome', content: { position: 1, ok: true, value: long } },
  { type: 'flow_opened', content: { position: 2, op: { kind: 'suspend', tag: long }, asked: 2 } },
]
const place = (event: NewEvent, index: number): LogEvent => ({ ...event, conversationId: 's', seq: index + 1, at: 1 })
const state = foldFlow(events.map(place))!

test('a record weighs what its input, its end and all its parts weigh', () => {
  const parts = [...state.ops, ...state.outcomes].reduce((sum, part) => sum + weightOf(part), 0)
  expect(flowWeight(state)).toBe(weightOf('in') + weightOf(null) + parts)
  const ended = { ...state, ended: { status: 'done' as const, result: long } }
  expect(flowWeight(ended)).toBe(weightOf('in') + weightOf(ended.ended) + parts)
})

test('a record that fits is the same object; of one that does not, what waits for an answer is cut last', () => {
  expect(trimFlow(state, flowWeight(state))).toBe(state)
  const some = trimFlow(state, flowWeight(state) - 1)
  expect(some).toMatchObject({ isTrimmed: true, ops: [state.ops[0], state.ops[1]] })
  const { leftOut, ...shown } = some.outcomes[0]!
  expect(leftOut).toBe(weightOf(state.outcomes[0]!) - weightOf(shown))
  const least = trimFlow(state, 1)
  expect(least.ops.map(({ leftOut = 0 }) => leftOut > 0)).toEqual([true, true])
  expect(flowWeight(least)).toBeLessThan(flowWeight(some))
})

test('of an outcome that failed, the beginning of the error is kept, with its code', () => {
  const failure: NewEvent = {
    type: 'flow_outcome',
    content: { position: 1, ok: false, error: long, code: 'flow_step_failed' },
  }
  const failed = foldFlow([events[0]!, events[1]!, failure].map(place))!
  const [outcome] = trimFlow(failed, 1).outcomes
  expect(outcome).toMatchObject({ position: 1, ok: false, code: 'flow_step_failed' })
  const { error } = outcome as unknown as { readonly error: string }
  expect(error.startsWith('xxx')).toBe(true)
  expect(error.length).toBeLessThan(1_000)
  expect(outcome!.leftOut).toBeGreaterThan(9_000)
})
