import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { testStore } from '../../testing/test-store.ts'
import { sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync('/tmp/perdure-sqlite-')
let count = 0
const create = (audit: boolean) => sqliteStore({ path: join(folder, `${++count}.db`), audit })
const createWithoutAudit = () => create(false)
const openAnother = () => sqliteStore({ path: join(folder, `${count}.db`) })

afterAll(() => rmSync(folder, { recursive: true }))
testStore(
  { describe, test, expect },
  { create: () => create(true), createWithoutAudit, openAnother, destroy: (store) => store.close() },
)
