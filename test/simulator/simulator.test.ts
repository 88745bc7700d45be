import { expect, test } from 'vitest'
import { campaign } from './campaign.ts'

const timeout = 400_000

test('whatever dies, stalls, fails or meddles, and dies again while recovering, every promise holds', {
  timeout,
}, async () => {
  const tally = await campaign({ seed: 11, runs: 60, share: 0.04 })
  expect(tally.violations).toEqual([])
  expect(tally.summary()).toMatchObject({ neverHit: [], missingPairs: [] })
})
