import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { everythingChange, observe, suspendCalls } from '../../testing/conformance/event-builders.ts'
import type { Store } from '../store.ts'
import { sqliteStore } from './sqlite-store.ts'

const what = { ids: ['chat'], callIds: ['one', 'two'] }
let folder: string
let path: string
let store: Store

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-'))
  path = join(folder, 'store.db')
  store = sqliteStore({ path })
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

describe('a change leaves nothing of itself when it fails', () => {
  test.each([
    ['at its first event', 'INSERT ON events WHEN new.seq = 5'],
    ['at its last event', 'INSERT ON events WHEN new.seq = 6'],
    ['at its key', 'INSERT ON keys'],
    ['at the row it ends', "UPDATE ON calls WHEN new.status = 'resolved'"],
    ['at the row it writes', "INSERT ON calls WHEN new.call_id = 'two'"],
    ['at its settings', 'UPDATE OF settings ON conversations'],
    ['at the lease it gives back', 'UPDATE OF lease_epoch ON conversations WHEN new.lease_epoch IS NULL'],
  ])('%s', async (_, moment) => {
    await suspendCalls(store, 'chat', ['one'])
    const { epoch } = (await store.acquireLease('chat', 'holder', 60_000))!
    const before = await observe(store, what)
    sql(`CREATE TRIGGER sabotage BEFORE ${moment} BEGIN SELECT raise(ABORT, 'sabotage'); END`)
    await expect(store.commit('chat', everythingChange(epoch))).rejects.toMatchObject({ code: 'store_failed' })
    expect(await observe(store, what)).toEqual(before)
    sql('DROP TRIGGER sabotage')
    expect(await store.commit('chat', everythingChange(epoch))).toMatchObject({ ok: true, seq: 7 })
  })
})

function sql(text: string): void {
  const connection = new DatabaseSync(path)
  connection.exec(text)
  connection.close()
}
