import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, test } from 'vitest'
import { testStore } from '../../testing/test-store.ts'
import { sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(`${tmpdir()}/perdure-`)
let count = 0
const open = (file: number, audit = true) => sqliteStore({ path: `${folder}/${file}.db`, audit })
const create = () => open(++count)
const createWithoutAudit = () => open(++count, false)
const openAnother = () => open(count)
afterAll(() => rmSync(folder, { recursive: true }))
testStore({ describe, test, expect }, { create, createWithoutAudit, openAnother, destroy: (store) => store.close() })
