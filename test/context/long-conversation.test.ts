import { expect, test } from 'vitest'
import { longConversation } from './long-conversation.ts'

test('a long conversation with many tool calls stays within its budget, and most of each prompt is how the one before began', async () => {
  const { mostTokensPerCall, budget, reductions, prefixShare } = await longConversation(200)
  expect(mostTokensPerCall).toBeLessThanOrEqual(budget)
  expect(reductions).toBeGreaterThanOrEqual(2)
  expect(reductions).toBeLessThanOrEqual(4)
  expect(prefixShare).toBeGreaterThanOrEqual(0.9)
})
