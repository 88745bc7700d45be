import { inject, test } from 'vitest'
import { expectEndured } from './expect-endured.ts'
import { race } from './race.ts'

const size = { seed: 5, processes: 4, calls: 40, rounds: 100 }
const timeout = 180_000

test('of processes and deadlines that end the same calls in a SQLite file, one wins and the others learn who', {
  timeout,
}, async () => {
  expectEndured(await race({ store: 'sqlite', ...size }))
})

test('of processes and deadlines that end the same calls in Postgres, one wins and the others learn who', {
  timeout,
}, async () => {
  expectEndured(await race({ store: 'postgres', postgresUrl: inject('postgresUrl'), ...size }))
})
