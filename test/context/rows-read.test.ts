import { expect, test } from 'vitest'
import { rowsRead } from './rows-read.ts'

test('a turn reads as little late in a conversation as early, and so does a process that takes it up', async () => {
  const { perTurn, revival } = await rowsRead(250, 'memory')
  expect(Math.abs(perTurn.late - perTurn.early)).toBeLessThanOrEqual(5)
  // What fits into the budget, and no more.
  expect(revival.late).toBeLessThanOrEqual(250)
})
