import { inject, test } from 'vitest'
import { expectEndured } from './expect-endured.ts'
import { provider } from './provider.ts'

const timeout = 120_000

test('a provider that stalls, resets, truncates and fails anywhere in its streams is tried again, or told truthfully (sqlite)', {
  timeout,
}, async () => {
  expectEndured(await provider({ store: 'sqlite', seed: 5, rounds: 52 }))
})

test('a provider that stalls, resets, truncates and fails anywhere in its streams is tried again, or told truthfully (postgres)', {
  timeout,
}, async () => {
  expectEndured(await provider({ store: 'postgres', postgresUrl: inject('postgresUrl'), seed: 6, rounds: 52 }))
})
