import { afterAll, describe, expect, inject, test } from 'vitest'
import { giveBackSchema, takeSchema } from '../../../test/setup/spare-schemas.ts'
import { testStore } from '../../testing/test-store.ts'
import type { Store } from '../store.ts'
import { postgresStore } from './index.ts'

const schemas = new WeakMap<Store, string>()
const open = (schema: string, audit = true) => {
  const store = postgresStore({ connectionString: inject('postgresUrl'), schema, max: 4, audit })
  schemas.set(store, schema)
  return store
}

testStore(
  { describe, test, expect, afterAll },
  {
    create: () => open(takeSchema()),
    createWithoutAudit: () => open(takeSchema(), false),
    openAnother: (store) => open(schemas.get(store)!),
    async destroy(store) {
      await store.close()
      await giveBackSchema(schemas.get(store)!)
    },
  },
)
