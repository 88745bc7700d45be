import { expect, test } from 'vitest'
import { callIdOfChild, childBudget, childCalls, childIdOf, childRefusal } from './child-call.ts'
import type { LogEvent, NewEvent, TurnOptions } from './events.ts'
import { foldEvents } from './fold-events.ts'
import { nextStep } from './next-step.ts'
import { type ConversationState, openTurn, tokensUsed, usageOf } from './state.ts'

const usage = { inputTokens: 10, outputTokens: 5 }

function message(messageId: string, parts: Extract<NewEvent, { type: 'assistant_msg' }>['content']['parts']): NewEvent {
  const model = { provider: 'p', modelId: 'm' }
  const rest = { seen: 1, model, usage, finishReason: 'stop', status: 'complete' as const }
  return { type: 'assistant_msg', content: { turnId: 't', messageId, parts, ...rest } }
}

/** A turn that has called an agent once. */
function calling(options: TurnOptions = {}, gated = false): NewEvent[] {
  const decisions = { gated, ifInterrupted: 'report', timeoutMs: null, expiresInMs: null } as const
  const call = { turnId: 't', callId: 'c', providerCallId: 'p', name: 'delegate', args: {}, executor: 'agent' as const }
  return [
    { type: 'user_msg', content: { turnId: 't', message: { parts: [] }, options, who: 'ann' } },
    message('m1', [{ type: 'call', callId: 'c' }]),
    { type: 'tool_call', content: { ...call, ...decisions } },
  ]
}

const suspension: NewEvent = {
  type: 'suspension',
  content: { callId: 'c', round: 1, kind: 'sub_agent', prompt: null, schema: true, expiresInMs: null },
}

const resolution = (value: object): NewEvent => ({
  type: 'resolution',
  content: { callId: 'c', round: 1, kind: 'sub_agent', status: 'resolved', value: value as never, who: 'agent:x' },
})

function state(...events: NewEvent[]): ConversationState {
  return foldEvents(events.map((event, index): LogEvent => ({ ...event, conversationId: 'x', seq: index + 1, at: 0 })))
}

test('the conversation of a child and the call it is for name each other', () => {
  expect(callIdOfChild(childIdOf('c'))).toBe('c')
  for (const id of ['c1', 'child', 'child-']) expect(callIdOfChild(id)).toBeNull()
})

test('a call is worked on by a child from its suspension to its end', () => {
  expect(childCalls(state(...calling()))).toEqual([])
  expect(childCalls(state(...calling(), suspension)).map(({ callId }) => callId)).toEqual(['c'])
  expect(childCalls(state(...calling(), suspension, resolution({ ok: true, result: 1 })))).toEqual([])
})

test('a child’s usage counts for the turn, unless it is not a number', () => {
  const used = (value: object) => openTurn(state(...calling(), suspension, resolution(value)))!
  expect(usageOf(used({ ok: true, result: 1, usage: { inputTokens: 7, reasoningTokens: 2 } }))).toEqual({
    inputTokens: 17,
    outputTokens: 5,
    reasoningTokens: 2,
  })
  for (const bad of [{ inputTokens: -7 }, { inputTokens: '7' }, { inputTokens: 0.5 }, [7], 'x', null]) {
    expect(tokensUsed(used({ ok: true, result: 1, usage: bad }))).toBe(15)
  }
})

test('a child may use what its turn has left', () => {
  const turn = openTurn(state(...calling({ maxSteps: 3, maxTokens: 100, maxDepth: 2 })))!
  expect(childBudget(turn)).toEqual({ maxDepth: 1, maxSteps: 2, maxTokens: 85 })
  expect(childRefusal(turn)).toBeNull()
})

test.each([
  ['max_depth', { maxDepth: 0 }],
  ['max_steps', { maxSteps: 1 }],
  ['max_tokens', { maxTokens: 15 }],
])('a child that passes %s is not started, nor is anybody asked about it', (limit, options) => {
  for (const gated of [true, false]) {
    const step = nextStep(state(...calling(options, gated)), new Set())
    if (step.type !== 'commit') throw new Error(`expected a commit, not ${step.type}`)
    expect(step.events).toMatchObject([{ type: 'tool_result', content: { ok: false } }])
    expect(JSON.stringify(step.events)).toContain(limit)
  }
})
