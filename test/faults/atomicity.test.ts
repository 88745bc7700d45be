import { inject, test } from 'vitest'
import { atomicity } from './atomicity.ts'
import { expectEndured } from './expect-endured.ts'

const rounds = 8
const timeout = 180_000

test('a killed writer leaves whole commits in a SQLite file, and every one it was told of', { timeout }, async () => {
  expectEndured(await atomicity({ store: 'sqlite', seed: 3, rounds }))
})

test('a killed writer leaves whole commits in Postgres, and every one it was told of', { timeout }, async () => {
  expectEndured(await atomicity({ store: 'postgres', postgresUrl: inject('postgresUrl'), seed: 3, rounds }))
})
