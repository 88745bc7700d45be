import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, inject, test } from 'vitest'
import { silentLogger as logger } from '../base/logger.ts'
import { suspendCalls } from '../testing/conformance/event-builders.ts'
import { createStore } from './create-store.ts'
import type { Driver } from './driver.ts'
import { memoryDriver } from './memory/memory-store.ts'
import { postgresDriver } from './postgres/postgres-store.ts'
import { sqliteDriver } from './sqlite/sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-due-calls-'))
const waits = { connectTimeoutMs: 10_000, answerTimeoutMs: 20_000, migrateTimeoutMs: 60_000, hintCheckMs: 10_000 }
const drivers: Record<string, () => Driver> = {
  memory: () => memoryDriver(),
  sqlite: () => sqliteDriver({ path: join(folder, 'due-calls.db'), busyTimeoutMs: 10_000, logger }),
  postgres: () =>
    postgresDriver({ connectionString: inject('postgresUrl'), schema: 'due_calls', max: 2, logger, ...waits }),
}

describe.each(Object.keys(drivers))('calls that are due (%s)', (name) => {
  test('are those whose deadline has passed, the earliest first and as many as asked for, with the time to the next', async () => {
    const driver = drivers[name]!()
    // Nothing expires by itself here.
    const store = createStore({ ...driver, dueCalls: async () => ({ due: [], nextInMs: null }) }, { logger })
    await suspendCalls(store, 'chat', ['never'])
    expect(await driver.dueCalls(9)).toEqual({ due: [], nextInMs: null })
    await suspendCalls(store, 'one', ['third'], { expiresInMs: 3 })
    await suspendCalls(store, 'two', ['later'], { expiresInMs: 600_000 })
    await suspendCalls(store, 'three', ['latest'], { expiresInMs: 900_000 })
    await suspendCalls(store, 'four', ['first', 'second'])
    await store.scheduleExpiry('four', 'second', 2)
    await store.scheduleExpiry('four', 'first', 1)
    await store.scheduleExpiry('one', 'third', 30)
    await suspendCalls(store, 'five', ['answered'], { expiresInMs: 600_000 })
    await store.resolveToolCall('answered', 'resolved', 'in time')
    await sleep(40)
    const ids = async (limit: number) => (await driver.dueCalls(limit)).due.map(({ callId }) => callId)
    expect((await ids(9)).toSorted()).toEqual(['first', 'second', 'third'])
    expect((await ids(9)).at(-1)).toBe('third')
    expect(await ids(2)).not.toContain('third')
    expect(await ids(1)).toHaveLength(1)
    const { due, nextInMs } = await driver.dueCalls(9)
    expect(due.at(-1)).toEqual({ tenant: 'default', id: 'one', callId: 'third', round: 1, kind: 'approval' })
    expect(nextInMs).toSatisfy((ms: number) => ms > 500_000 && ms <= 600_000)
    await store.close()
    if (name === 'sqlite') rmSync(folder, { recursive: true })
  })
})
