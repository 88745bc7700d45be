import { expect, test } from 'vitest'
import { called, failed, marked, regenerated, replied, said, stateOf, succeeded } from '../../../test/log/story.ts'
import type { NewEvent, TurnOptions, TurnStatus } from '../../log/events.ts'
import { childResult } from './child-calls.ts'

function resultOf(events: NewEvent[], status: TurnStatus, reason: string | null = null, options: TurnOptions = {}) {
  const turn = stateOf([said('t1', options), ...events]).turns[0]!
  return childResult('helper', turn, { status, reason })
}

const text = (text: string) => ({ type: 'text' as const, text })

test('a child that completed gives the text of its last message, all parts of it and nothing else', () => {
  const parts = [text('one '), { type: 'reasoning' as const, text: 'hm' }, text('two')]
  const events = [replied('t1', 'm1', 1), replied('t1', 'm2', 2, { parts })]
  expect(resultOf(events, 'completed')).toEqual({ ok: true, result: 'one two', usage: {} })
  expect(resultOf([], 'completed')).toEqual({ ok: true, result: '', usage: {} })
})

test('a message that was regenerated is not its answer', () => {
  const events = [replied('t1', 'm1', 1), replied('t1', 'm2', 2), regenerated('m2')]
  expect(resultOf(events, 'completed')).toMatchObject({ result: 'this is m1' })
})

test('an object is given instead of the text, also when it is null', () => {
  expect(resultOf([replied('t1', 'm1', 1, { object: { n: 1 } })], 'completed')).toMatchObject({ result: { n: 1 } })
  expect(resultOf([replied('t1', 'm1', 1, { object: null })], 'completed')).toMatchObject({ result: null })
})

test('a turn that ran until a tool gives the result of the last call of it that went well', () => {
  const calls = [
    replied('t1', 'm1', 1, { calls: ['c1', 'c2', 'c3', 'c4'] }),
    called('c1', { name: 'finish' }),
    called('c2', { name: 'finish' }),
    called('c3', { name: 'finish' }),
    called('c4', { name: 'other' }),
  ]
  const done = (callId: string, result: string): NewEvent => ({
    type: 'tool_result',
    content: { callId, ok: true, result },
  })
  const events = [...calls, done('c1', 'first'), done('c2', 'second'), failed('c3', 'broken'), succeeded('c4')]
  expect(resultOf(events, 'completed', 'until_tool', { untilTool: 'finish' })).toMatchObject({ result: 'second' })
  expect(resultOf(events, 'completed', null, { untilTool: 'finish' })).toMatchObject({ result: 'this is m1' })
  expect(resultOf(calls, 'completed', 'until_tool', { untilTool: 'finish' })).toMatchObject({ result: 'this is m1' })
})

test('any other end is an error that names the agent, how it ended and why', () => {
  const error = (status: TurnStatus, reason: string | null) => resultOf([replied('t1', 'm1', 1)], status, reason)
  expect(error('cancelled', null)).toEqual({ ok: false, error: "the agent 'helper' was cancelled", usage: {} })
  expect(error('halted', 'max_steps')).toMatchObject({ error: "the agent 'helper' was halted: max_steps" })
  expect(error('failed', 'model_failed: no')).toMatchObject({ error: "the agent 'helper' failed: model_failed: no" })
})

test('where the last message is withheld, a failure gives its code alone, and other ends what they say', () => {
  const events = [marked('m1'), replied('t1', 'm1', 1)]
  expect(resultOf(events, 'failed', 'hook_failed: it said: secret')).toMatchObject({
    error: "the agent 'helper' failed: hook_failed",
  })
  expect(resultOf(events, 'failed', null)).toMatchObject({ error: "the agent 'helper' failed" })
  expect(resultOf(events, 'halted', 'guard: no')).toMatchObject({ error: "the agent 'helper' was halted: guard: no" })
  const shownAfter = [...events, replied('t1', 'm2', 3)]
  expect(resultOf(shownAfter, 'failed', 'a: b')).toMatchObject({ error: "the agent 'helper' failed: a: b" })
})

test('what it used comes with every end', () => {
  const events = [replied('t1', 'm1', 1, { usage: { inputTokens: 5, outputTokens: 2 } })]
  for (const status of ['completed', 'failed'] as const)
    expect(resultOf(events, status)).toMatchObject({ usage: { inputTokens: 5, outputTokens: 2 } })
})
