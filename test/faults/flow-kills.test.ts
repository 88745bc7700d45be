import { inject, test } from 'vitest'
import { expectEndured } from './expect-endured.ts'
import { flowKills } from './flow-kills.ts'

const timeout = 180_000

test('a session of ten steps ends as it should wherever its process is killed, on SQLite', { timeout }, async () => {
  expectEndured(await flowKills({ store: 'sqlite', seed: 1, rounds: 10 }))
})

test('a session of ten steps ends as it should wherever its process is killed, on Postgres', { timeout }, async () => {
  expectEndured(await flowKills({ store: 'postgres', postgresUrl: inject('postgresUrl'), seed: 4, rounds: 4 }))
})
