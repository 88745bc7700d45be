import { expect, test } from 'vitest'
import { called, regenerated, replied, resolved, said, stateOf, suspended } from '../../test/log/story.ts'
import { childBudget, childRefusal } from './child-call.ts'
import type { NewEvent, TurnOptions } from './events.ts'
import { answerSchema } from './next-step.ts'
import { tokensUsed, usageOf } from './state.ts'

const turnWith = (options: TurnOptions, ...events: NewEvent[]) => stateOf([said('t1', options), ...events]).turns[0]!
const used = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } })

test('children may use what their turn has left', () => {
  const turn = turnWith(
    { maxDepth: 2, maxSteps: 5, maxTokens: 100 },
    replied('t1', 'm1', 1, used(30, 10)),
    replied('t1', 'm2', 2),
  )
  expect(childBudget(turn)).toEqual({ maxDepth: 1, maxSteps: 3, maxTokens: 60 })
})

test('a message that was regenerated is no step, but was paid for', () => {
  const turn = turnWith({ maxSteps: 5, maxTokens: 100 }, replied('t1', 'm1', 1, used(30, 10)), regenerated('m1'))
  expect(childBudget(turn)).toMatchObject({ maxSteps: 5, maxTokens: 60 })
})

test('a turn that does not say has four levels below it, and no other bound', () => {
  expect(childBudget(turnWith({}))).toEqual({
    maxDepth: 3,
    maxSteps: Number.POSITIVE_INFINITY,
    maxTokens: Number.POSITIVE_INFINITY,
  })
})

test('a child is refused when no level, no step or no token is left, and not before', () => {
  expect(childRefusal(turnWith({ maxDepth: 1 }))).toBe(null)
  expect(childRefusal(turnWith({ maxDepth: 0 }))).toContain('max_depth')
  expect(childRefusal(turnWith({ maxSteps: 2 }, replied('t1', 'm1', 1)))).toBe(null)
  expect(childRefusal(turnWith({ maxSteps: 1 }, replied('t1', 'm1', 1)))).toContain('max_steps')
  expect(childRefusal(turnWith({ maxTokens: 41 }, replied('t1', 'm1', 1, used(30, 10))))).toBe(null)
  expect(childRefusal(turnWith({ maxTokens: 40 }, replied('t1', 'm1', 1, used(30, 10))))).toContain('max_tokens')
})

test('a turn has used what its messages and its children that have ended say, as far as that can be counted', () => {
  const end = (value: unknown) => [
    replied('t1', 'm1', 1, { calls: ['c1'], usage: { inputTokens: 5, reasoningTokens: 1 } }),
    called('c1', { executor: 'agent' }),
    suspended('c1', 'sub_agent'),
    resolved('c1', 'sub_agent', 'resolved', { value: value as never }),
  ]
  const usage = { inputTokens: 7, outputTokens: 0, cacheReadTokens: -1, cacheWriteTokens: 1.5, other: 9 }
  const turn = turnWith({}, ...end({ ok: true, result: 1, usage }))
  expect(usageOf(turn)).toEqual({ inputTokens: 12, outputTokens: 0, reasoningTokens: 1 })
  expect(tokensUsed(turn)).toBe(12)
  for (const value of [null, 'no', [1], { usage: null }, { usage: [7] }, {}])
    expect(usageOf(turnWith({}, ...end(value)))).toEqual({ inputTokens: 5, reasoningTokens: 1 })
})

test('an approval wants a yes or no, a question what its tool says, a page and a child how it went', () => {
  const schema = { type: 'number' }
  expect(answerSchema({ schema }, 'approval')).toEqual({ type: 'boolean' })
  expect(answerSchema({ schema }, 'elicitation')).toEqual(schema)
  expect(answerSchema({}, 'elicitation')).toBe(true)
  for (const kind of ['client_exec', 'sub_agent'] as const) {
    expect(answerSchema({ schema }, kind)).toEqual({
      anyOf: [
        { type: 'object', properties: { ok: { const: true }, result: schema }, required: ['ok', 'result'] },
        { type: 'object', properties: { ok: { const: false }, error: { type: 'string' } }, required: ['ok', 'error'] },
      ],
    })
  }
  expect(answerSchema({ schema }, 'recovery')).toEqual({
    anyOf: [{ enum: ['rerun', 'report'] }, { type: 'object', properties: { result: true }, required: ['result'] }],
  })
})
