import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../base/logger.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { testStore } from '../../testing/test-store.ts'
import { memoryStore } from './memory-store.ts'

const clock = fakeClock()
const create = (audit = true) => memoryStore({ clock, audit, logger: silentLogger })
const createWithoutAudit = () => create(false)

testStore(
  { describe, test, expect },
  { create: () => create(), createWithoutAudit, destroy: (store) => store.close(), clock },
)
