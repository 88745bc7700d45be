import { expect, test } from 'vitest'
import type { FlowOp } from '../../log/events.ts'
import { isSameOp } from './flow-run.ts'

const step: FlowOp = { kind: 'step', name: 'pay', input: { a: 1, b: 2 }, ifInterrupted: 'rerun' }
const suspend: FlowOp = { kind: 'suspend', tag: { ask: 'sure?' }, schema: true }
const agent: FlowOp = { kind: 'agent', agent: 'helper', id: null, message: 'go' }

test('a step is the same by its name and input, in whatever order the keys are, and whatever is done when it is interrupted', () => {
  expect(isSameOp(step, { ...step, input: { b: 2, a: 1 }, ifInterrupted: 'report' })).toBe(true)
  expect(isSameOp(step, { ...step, name: 'refund' })).toBe(false)
  expect(isSameOp(step, { ...step, input: { a: 1 } })).toBe(false)
})

test('a suspension is the same by its tag, not by the schema of its answer', () => {
  expect(isSameOp(suspend, { kind: 'suspend', tag: { ask: 'sure?' } })).toBe(true)
  expect(isSameOp(suspend, { kind: 'suspend', tag: { ask: 'really?' } })).toBe(false)
})

test('everything of any other operation counts, and kinds are never the same', () => {
  expect(isSameOp(agent, { ...agent })).toBe(true)
  expect(isSameOp(agent, { ...agent, message: 'stop' })).toBe(false)
  expect(isSameOp({ kind: 'sleep', ms: 1 }, { kind: 'sleep', ms: 2 })).toBe(false)
  expect(isSameOp({ kind: 'now' }, { kind: 'random' })).toBe(false)
  expect(isSameOp({ kind: 'now' }, { kind: 'now' })).toBe(true)
})
