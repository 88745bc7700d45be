import { describe, expect, test } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
import { testStore } from '../../testing/test-store.ts'
import { memoryStore } from './memory-store.ts'

const clock = fakeClock()
const runner = { describe, test, expect }

testStore(runner, {
  create: () => memoryStore({ clock }),
  createWithoutAudit: () => memoryStore({ clock, audit: false }),
  destroy: (store) => store.close(),
  clock,
})
