import { inject, test } from 'vitest'
import { crashMatrix } from './crash-matrix.ts'
import { expectEndured } from './expect-endured.ts'

const timeout = 180_000

test('wherever a process on a SQLite file is killed, the next one brings every turn to the end it would have had', {
  timeout,
}, async () => {
  expectEndured(await crashMatrix({ store: 'sqlite', seed: 5, rounds: 1 }))
})

test('wherever a process on Postgres is killed, the next one brings every turn to the end it would have had', {
  timeout,
}, async () => {
  const at = ['store.inside_transaction', 'store.after_transaction', 'owner.before_commit', 'tool.after_run'] as const
  expectEndured(await crashMatrix({ store: 'postgres', postgresUrl: inject('postgresUrl'), seed: 5, rounds: 4, at }))
})
