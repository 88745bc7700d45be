import { expect, test } from 'vitest'
import { mcpKills } from './mcp-kills.ts'

test('client and server killed between input_required and its answer lose nothing, and do nothing twice', {
  timeout: 90_000,
}, async () => {
  expect(await mcpKills({ seed: 3, rounds: 3 })).toEqual([])
})
