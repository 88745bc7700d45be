import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { testStore } from '../../testing/test-store.ts'
import { sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-'))
let count = 0
const path = () => join(folder, `${count}.db`)
const create = (audit: boolean) => sqliteStore({ path: join(folder, `${++count}.db`), audit })

afterAll(() => rmSync(folder, { recursive: true }))
testStore(
  { describe, test, expect },
  {
    create: () => create(true),
    createWithoutAudit: () => create(false),
    openAnother: () => sqliteStore({ path: path() }),
    destroy: (store) => store.close(),
  },
)
