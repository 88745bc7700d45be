import { test } from 'vitest'
import { expectEndured } from './expect-endured.ts'
import { fleet } from './fleet.ts'

test('a fleet on Postgres keeps its promises through every fault, and comes to rest when they end', {
  timeout: 300_000,
}, async () => {
  expectEndured(await fleet({ seed: 3, minutes: 0.05 }))
})
