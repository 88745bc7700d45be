import { expect, test } from 'vitest'
import {
  called,
  cancelled,
  ended,
  marked,
  regenerated,
  replied,
  said,
  started,
  stateOf,
  suspended,
} from '../../test/log/story.ts'
import type { NewEvent } from './events.ts'
import { type ConversationPhase, fsmStateOf, fsmStateWith, statusOf } from './fsm-state.ts'

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
])('the cached state of %s', (_name, log, state, pending) => {
  const { lastMessage: _, tokens: __, ...cached } = fsmStateOf(stateOf(log))
  expect(cached).toEqual({ state, pending, lastSeq: log.length })
})

test('it has the beginning of the newest message that people may read', () => {
  const lastOf = (...log: NewEvent[]) => fsmStateOf(stateOf(log)).lastMessage
  expect(lastOf()).toBeUndefined()
  expect(lastOf(said('t1'))).toEqual({ role: 'user', text: 'for t1' })
  expect(lastOf(said('t1'), replied('t1', 'm1', 1))).toEqual({ role: 'assistant', text: 'this is m1' })
  const withheld = [said('t1'), marked('m1'), replied('t1', 'm1', 2)]
  expect(lastOf(...withheld)).toEqual({ role: 'user', text: 'for t1' })
  const regenerating = [said('t1'), replied('t1', 'm1', 1), regenerated('m1')]
  expect(lastOf(...regenerating)).toEqual({ role: 'user', text: 'for t1' })
})

test.each([
  ['an empty log', []],
  ['a turn that has ended', [said('t0'), replied('t0', 'm0', 1), ended('t0')]],
])('it is told without a fold for a message after %s', (_name, log: NewEvent[]) => {
  const text = said('t1')
  const file: NewEvent = { type: 'user_msg', content: { ...text.content, message: { parts: [] } } } as NewEvent
  for (const message of [text, file] as Extract<NewEvent, { type: 'user_msg' }>[])
    expect(fsmStateWith(message.content.message, stateOf(log))).toEqual(fsmStateOf(stateOf([...log, message])))
})

test('the beginning has at most 160 characters and no line breaks, however long the message is', () => {
  const log = stateOf([said('t1')])
  const parts = [{ type: 'text' as const, text: `a\n\n b${'\u{1F600}'.repeat(100_000)}` }]
  const [turn] = log.turns
  const items = turn!.items.map((item) =>
    item.type === 'user' ? { ...item, message: { ...item.message, parts } } : item,
  )
  const { text } = fsmStateOf({ ...log, turns: [{ ...turn!, items }] }).lastMessage!
  expect(text).toMatch(/^a b/)
  expect(text.length).toBeLessThanOrEqual(160)
  expect(text.isWellFormed()).toBe(true)
})

test('it has the tokens of the newest model call that told any', () => {
  const tokensOf = (...log: NewEvent[]) => fsmStateOf(stateOf(log)).tokens
  const first = replied('t1', 'm1', 1, { usage: { inputTokens: 60, outputTokens: 40, reasoningTokens: 30 } })
  const second = replied('t2', 'm2', 1, { usage: { inputTokens: 70 } })
  expect(tokensOf(said('t1'))).toBeUndefined()
  expect(tokensOf(said('t1'), first)).toBe(100)
  expect(tokensOf(said('t1'), first, ended('t1'), said('t2'), second)).toBe(70)
  expect(tokensOf(said('t1'), first, ended('t1'), said('t2'), replied('t2', 'm2', 1, { usage: {} }))).toBe(100)
})

test.each([
  ['idle', 'idle'],
  ['running', 'active'],
  ['awaiting_input', 'suspended'],
  ['terminating', 'active'],
] as const)('%s is listed as %s', (phase, status) => {
  expect(statusOf(phase)).toBe(status)
})
