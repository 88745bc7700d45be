import { expect, test } from 'vitest'
import { cuts } from './programs/cuts.ts'
import { fuzz } from './programs/fuzz.ts'
import { stalled } from './programs/stalled.ts'
import { watchers } from './programs/watchers.ts'

const timeout = 60_000

test('a client that is cut off at random while the server is killed shows the log in the end', {
  timeout,
}, async () => {
  const finding = await cuts({ seed: 7, cuts: 30, deltas: 600, kills: 1 })
  expect(finding).toMatchObject({ violations: [], notExercised: [] })
})

test('clients that never read cost little, and clients that read get everything', { timeout }, async () => {
  const finding = await stalled({ clients: 20, bytes: 8 * 1024 * 1024, mostGrowthMb: 64, mostP99Ms: null })
  expect(finding).toMatchObject({ violations: [], notExercised: [] })
})

test('a delta that many watch is written out once', { timeout }, async () => {
  const finding = await watchers({ count: 40, deltas: 50 })
  expect(finding).toMatchObject({ violations: [], counts: { written: 50 } })
})

test('nonsense on every route is answered, and never with a failure of the server', { timeout }, async () => {
  const finding = await fuzz({ seed: 1, requests: 1_500, mostStallMs: 1_000 })
  expect(finding).toMatchObject({ violations: [], notExercised: [] })
})
