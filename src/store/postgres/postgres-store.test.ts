import { afterAll, describe, expect, inject, test } from 'vitest'
import { testStore } from '../../testing/test-store.ts'
import { postgresStore } from './index.ts'

const connectionString = inject('postgresUrl')
let created = 0
const open = (audit = true) => postgresStore({ connectionString, schema: `suite_${created}`, max: 4, audit })
const create = (audit?: boolean) => {
  created += 1
  return open(audit)
}
const store = { create: () => create(), createWithoutAudit: () => create(false), openAnother: () => open() }

testStore({ describe, test, expect, afterAll }, { ...store, destroy: (opened) => opened.close() })
