import { describe, expect, inject, test } from 'vitest'
import { emptySchema } from '../../../test/setup/empty-schema.ts'
import { testStore } from '../../testing/test-store.ts'
import { postgresStore } from './index.ts'

const connectionString = inject('postgresUrl')
const empty = emptySchema(connectionString, 'suite')
const open = (audit = true) => postgresStore({ connectionString, schema: 'suite', max: 4, audit })

const ways = { create: () => open(), createWithoutAudit: () => open(false), openAnother: () => open() }
testStore({ describe, test, expect }, { ...ways, destroy: (store) => store.close().then(empty) })
