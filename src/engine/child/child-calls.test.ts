import { beforeEach, expect, test } from 'vitest'
import {
  called,
  cancelled,
  continued,
  ended,
  replied,
  resolved,
  said,
  stateOf,
  suspended,
} from '../../../test/log/story.ts'
import type { Json } from '../../base/json.ts'
import { ChildCalls } from './child-calls.ts'
import type { Family } from './child-family.ts'

let told: Json[] = []
let startedCalls: string[] = []
let cancelledCalls: string[] = []
/** The calls whose child exists. */
let existing = new Set<string>()

beforeEach(() => {
  told = []
  startedCalls = []
  cancelledCalls = []
  existing = new Set(['c1', 'c2'])
})

function family(parent: Family['parent'] = null): Family {
  return {
    parent,
    patienceMs: 70,
    allowOneMore: () => () => {},
    start: async ({ callId }, { turnId }) => void startedCalls.push(`${callId} of ${turnId}`),
    cancel: async (callId, who) => {
      cancelledCalls.push(`${callId} by ${who}`)
      return existing.has(callId)
    },
    resolveParent: async (result) => void told.push(result),
  }
}

const calling = stateOf([
  said('t1'),
  replied('t1', 'm1', 1, { calls: ['c1', 'c2'] }),
  called('c1', { executor: 'agent' }),
  called('c2', { executor: 'agent' }),
  suspended('c1', 'sub_agent'),
  suspended('c2', 'sub_agent'),
])
const oneIsBack = continued(calling, [resolved('c1', 'sub_agent', 'resolved', { value: { ok: true, result: 1 } })])
const bothAreBack = continued(oneIsBack, [resolved('c2', 'sub_agent', 'cancelled')])

test('each child is started once, however often the log is settled', async () => {
  const children = new ChildCalls(family(), 'parent')
  expect(children.areOwed(calling)).toBe(true)
  await children.settle(calling)
  expect(startedCalls).toEqual(['c1 of t1', 'c2 of t1'])
  expect(children.areOwed(calling)).toBe(false)
  await children.settle(calling)
  expect(startedCalls).toHaveLength(2)
})

test('a child that could not be started is owed, and started next time', async () => {
  let isDown = true
  const start: Family['start'] = async (call, turn) => {
    if (isDown && call.callId === 'c2') throw new Error('down')
    await family().start(call, turn)
  }
  const children = new ChildCalls({ ...family(), start }, 'parent')
  await expect(children.settle(calling)).rejects.toThrow('down')
  expect(children.areOwed(calling)).toBe(true)
  isDown = false
  await children.settle(calling)
  expect(startedCalls).toEqual(['c1 of t1', 'c2 of t1'])
})

test('children are open until each has ended its call', () => {
  const children = new ChildCalls(family(), 'parent')
  expect(children.areOpen(calling)).toBe(true)
  expect(children.areOpen(oneIsBack)).toBe(true)
  expect(children.areOpen(bothAreBack)).toBe(false)
})

test('a cancel asks each child once, in the name of the user who cancelled, and those that never began are not waited for', async () => {
  existing = new Set(['c1'])
  const children = new ChildCalls(family(), 'parent')
  const state = continued(calling, [cancelled('t1')])
  await children.cancel(state)
  await children.cancel(state)
  expect(cancelledCalls).toEqual(['c1 by bob', 'c2 by bob'])
  expect(children.areOpen(state)).toBe(true)
  const backAgain = continued(state, [resolved('c1', 'sub_agent', 'cancelled')])
  expect(children.areOpen(backAgain)).toBe(false)
})

test('a cancel that is in no log is that of the system', async () => {
  await new ChildCalls(family(), 'parent').cancel(calling)
  expect(cancelledCalls).toEqual(['c1 by system', 'c2 by system'])
})

test('a child tells its parent once how the turn of the call ended, and no other turn', async () => {
  const children = new ChildCalls(family({ conversationId: 'up', callId: 'c9' }), 'helper')
  const open = stateOf([said('turn-c9')])
  const other = continued(open, [said('t2'), ended('t2')])
  expect(children.areOwed(open)).toBe(false)
  expect(children.areOwed(other)).toBe(false)
  const over = continued(other, [replied('turn-c9', 'm1', 1), ended('turn-c9')])
  expect(children.areOwed(over)).toBe(true)
  await children.settle(over)
  expect(told).toEqual([{ ok: true, result: 'this is m1', usage: {} }])
  expect(children.areOwed(over)).toBe(false)
  await children.settle(over)
  expect(told).toHaveLength(1)
})

test('a conversation that no call started tells no parent', async () => {
  const children = new ChildCalls(family(), 'helper')
  const over = stateOf([said('t1'), replied('t1', 'm1', 1), ended('t1')])
  expect(children.areOwed(over)).toBe(false)
  await children.settle(over)
  expect(told).toEqual([])
})

test('the patience and the room are those of its family', () => {
  let places = 0
  const allowOneMore = () => {
    places += 1
    return () => {
      places -= 1
    }
  }
  const children = new ChildCalls({ ...family(), allowOneMore }, 'parent')
  expect(children.patienceMs).toBe(70)
  const leave = children.allowOneMore()
  expect(places).toBe(1)
  leave()
  expect(places).toBe(0)
})
