import { afterAll, describe, expect, test } from 'vitest'
import { PostgresSchema } from '../../../test/setup/postgres-schema.ts'
import { testStore } from '../../testing/test-store.ts'
import { createStore } from '../create-store.ts'
import type { Store } from '../store.ts'

const schemas = new WeakMap<Store, PostgresSchema>()
const open = (schema: PostgresSchema, audit = true) => {
  const store = createStore(schema.open(), { audit })
  schemas.set(store, schema)
  return store
}

testStore(
  { describe, test, expect, afterAll },
  {
    create: () => open(PostgresSchema.take()),
    createWithoutAudit: () => open(PostgresSchema.take(), false),
    openAnother: (store) => open(schemas.get(store)!),
    async destroy(store) {
      await store.close()
      await schemas.get(store)!.giveBack()
    },
  },
)
