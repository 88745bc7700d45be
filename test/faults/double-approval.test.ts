import { inject, test } from 'vitest'
import { doubleApproval } from './double-approval.ts'
import { expectEndured } from './expect-endured.ts'

const timeout = 90_000

test('approvals submitted twice at once from two processes on a SQLite file run once, and the loser learns by whom', {
  timeout,
}, async () => {
  expectEndured(await doubleApproval({ store: 'sqlite', seed: 3, rounds: 100 }))
})

test('approvals submitted twice at once from two processes on Postgres run once, and the loser learns by whom', {
  timeout,
}, async () => {
  expectEndured(await doubleApproval({ store: 'postgres', postgresUrl: inject('postgresUrl'), seed: 3, rounds: 50 }))
})
