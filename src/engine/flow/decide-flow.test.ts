import { describe, expect, test } from 'vitest'
import type { FlowOp, NewEvent } from '../../log/events.ts'
import { decideFlow, type FlowHand, nextDueMs } from './decide-flow.ts'
import type { LiveOp, Standstill } from './flow-run.ts'
import type { FlowState } from './flow-state.ts'

const step = (name = 'work', ifInterrupted: 'rerun' | 'report' = 'rerun'): FlowOp => ({
  ...{ kind: 'step', name, input: null, ifInterrupted },
})
const suspend: FlowOp = { kind: 'suspend', tag: 'wait' }
const agent: FlowOp = { kind: 'agent', agent: 'editor', id: null, message: 'hi' }
const sleep = (ms: number): FlowOp => ({ kind: 'sleep', ms })
const now = 10_000

/** The first `recorded` of them are in the log, written at 9,000. */
function situation(ops: readonly FlowOp[], recorded: number): { standstill: Standstill; state: FlowState } {
  const live = ops.map((op, index): LiveOp => ({ position: index + 1, op, run: null, schema: null }))
  const log = ops.slice(0, recorded).map((op, index) => ({
    ...{ position: index + 1, op, asked: recorded, id: `s1/0/${index + 1}`, seq: index + 2, at: 9_000 },
  }))
  const state = { flow: 'f', version: '1', input: null, who: 'ann', generation: 0, lastSeq: recorded + 1 }
  return {
    standstill: { type: 'blocked', ops: live, asked: ops.length },
    state: { ...state, ops: log, outcomes: [], ended: null },
  }
}

function decide(ops: readonly FlowOp[], recorded: number, hand: Partial<FlowHand> = {}) {
  const { standstill, state } = situation(ops, recorded)
  const none = new Set<number>()
  return decideFlow(standstill as Extract<Standstill, { type: 'blocked' }>, state, {
    ...{ outcomes: [], running: none, openedHere: none, unanswered: none, now },
    ...{ draw: (kind) => `a ${kind}`, newId: (position) => `id-${position}` },
    ...hand,
  })
}

const types = (events: readonly NewEvent[]) =>
  events.map((event) => `${event.type} ${'position' in event.content ? event.content.position : ''}`.trim())

describe('where the code stands', () => {
  test('what it asks for first is opened, with how many there are and ids for what acts outside', () => {
    expect(decide([step(), suspend, agent], 0).events).toEqual([
      { type: 'flow_opened', content: { position: 1, op: step(), asked: 3, id: 'id-1' } },
      { type: 'flow_opened', content: { position: 2, op: suspend, asked: 3 } },
      { type: 'flow_opened', content: { position: 3, op: agent, asked: 3, id: 'id-3' } },
    ])
  })

  test('openings come before the outcomes of the same commit', () => {
    expect(types(decide([{ kind: 'now' }, step(), { kind: 'uuid' }], 0).events)).toEqual([
      'flow_opened 1',
      'flow_opened 2',
      'flow_opened 3',
      'flow_outcome 1',
      'flow_outcome 3',
    ])
  })

  test('a session that only waits parks with its opening, in one commit', () => {
    expect(decide([suspend], 0)).toMatchObject({ events: [{ type: 'flow_opened' }], parks: true, wakeInMs: null })
    expect(decide([sleep(500)], 0)).toMatchObject({ events: [{ type: 'flow_opened' }], parks: true, wakeInMs: 500 })
    expect(decide([suspend], 1)).toEqual({ events: [], parks: true, wakeInMs: null })
  })

  test('a sleep wakes when it is due, not before', () => {
    expect(decide([sleep(1_001)], 1)).toEqual({ events: [], parks: true, wakeInMs: 1 })
    expect(types(decide([sleep(1_000)], 1).events)).toEqual(['flow_outcome 1'])
    expect(decide([sleep(0)], 0)).toMatchObject({ parks: false })
  })

  test('nothing parks while a step is to run or runs', () => {
    expect(decide([step(), suspend], 2)).toEqual({ events: [], parks: false, wakeInMs: null })
    expect(decide([step(), suspend], 2, { running: new Set([1]) })).toMatchObject({ parks: false })
  })

  test('a step that another process began is run again, or reported, as it says', () => {
    expect(decide([step('a', 'rerun')], 1).events).toEqual([])
    expect(decide([step('a', 'report')], 1).events).toMatchObject([
      { type: 'flow_outcome', content: { position: 1, ok: false, outcome: 'unknown' } },
    ])
    expect(decide([step('a', 'report')], 1, { openedHere: new Set([1]) }).events).toEqual([])
  })

  test('an outcome in hand is recorded, in the order the operations were asked for', () => {
    const outcomes = [2, 1].map((position) => ({ position, ok: true, value: position }) as const)
    expect(types(decide([step(), step()], 2, { outcomes }).events)).toEqual(['flow_outcome 1', 'flow_outcome 2'])
  })

  test('an agent is asked before anything parks, and looked at again after a while', () => {
    expect(decide([agent], 1)).toMatchObject({ parks: false })
    expect(decide([agent], 1, { unanswered: new Set([1]) })).toEqual({ events: [], parks: true, wakeInMs: 1_000 })
  })

  test('an end is recorded, whatever still waits', () => {
    const { state } = situation([suspend], 1)
    const hand = {} as FlowHand
    expect(decideFlow({ type: 'done', result: { at: new Date(0) } }, state, hand)).toMatchObject({
      events: [{ content: { status: 'done', result: { at: '1970-01-01T00:00:00.000Z' } } }],
      parks: true,
    })
    expect(decideFlow({ type: 'done', result: 1n }, state, hand)).toMatchObject({
      events: [{ content: { status: 'failed', error: expect.stringContaining('cannot be recorded') } }],
    })
    expect(decideFlow({ type: 'failed', error: new Error('no') }, state, hand)).toMatchObject({
      events: [{ content: { status: 'failed', error: 'no' } }],
    })
  })
})

test('the longer an agent takes, the less often it is looked at, within bounds', () => {
  const waited = (ms: number) => nextDueMs([{ op: agent, at: now - ms }], now)
  expect([waited(0), waited(8_000), waited(86_400_000)]).toEqual([1_000, 2_000, 300_000])
  expect(nextDueMs([{ op: suspend, at: now }], now)).toBe(null)
})
