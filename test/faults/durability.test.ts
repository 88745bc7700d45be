import { expect, inject, test } from 'vitest'
import { straceProblem } from './durability/strace.ts'
import { syncOrder } from './durability/sync-order.ts'
import { durability } from './durability.ts'
import { expectEndured } from './expect-endured.ts'

const timeout = 90_000
const missing = await straceProblem()

test('SQLite acknowledges after its sync, and lives through full disks, read-only files and failing syncs', {
  timeout,
}, async ({ skip }) => {
  const skipped = expectEndured(await durability({ store: 'sqlite', seed: 2, rounds: 1 }))
  if (skipped) skip(`everything else passed, but: ${skipped}`)
})

test('a SQLite store that does not wait for its disk is found out', { timeout }, async ({ skip }) => {
  if (missing) skip(missing)
  const { violations } = await syncOrder({ seed: 2, volleys: 5, isWeakened: true })
  expect(violations).toContainEqual(expect.stringContaining('was acknowledged before its sync'))
})

test('Postgres acknowledges what is on disk, also when it crashes or takes no writes for a while', {
  timeout,
}, async () => {
  expectEndured(await durability({ store: 'postgres', postgresUrl: inject('postgresUrl'), seed: 2, rounds: 1 }))
})
