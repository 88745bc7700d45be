import { expect, test } from 'vitest'
import { type ContextAttributes, contextSettings } from '../../define/agent.ts'
import { limitsOf } from './reduce.ts'

const of = (attributes: ContextAttributes, modelId = 'claude-sonnet-4-5', maxOutputTokens?: number) =>
  limitsOf(
    { context: contextSettings(attributes), settings: maxOutputTokens === undefined ? {} : { maxOutputTokens } },
    { provider: 'test', modelId },
  )

test.each<[string, ReturnType<typeof of>, ReturnType<typeof of>]>([
  ['by default', of({}), { budget: 26_000, target: 15_600, ceiling: 200_000 }],
  ['of an unknown model', of({}, 'new'), { budget: 26_000, target: 15_600, ceiling: 128_000 }],
  ['leave room for the answer', of({}, 'gpt-4o', 8_000), { budget: 26_000, target: 15_600, ceiling: 120_000 }],
  [
    'as the agent says',
    of({ workingBudget: 10_000, injectionReserve: 0, ceiling: 20_000 }),
    { budget: 10_000, target: 6_000, ceiling: 20_000 },
  ],
  ['have a budget below the ceiling', of({ ceiling: 10_000 }), { budget: 6_000, target: 3_600, ceiling: 10_000 }],
  [
    'leave half when the reserve would take all',
    of({ workingBudget: 1_000 }),
    { budget: 500, target: 300, ceiling: 200_000 },
  ],
])('limits %s', (_, limits, expected) => {
  expect(limits).toEqual(expected)
})
