import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { afterEach, expect, test, vi } from 'vitest'
import { sqliteStore } from './sqlite-store.ts'

afterEach(() => void vi.restoreAllMocks())

/** How SQLite finds the rows of what `work` lists. */
async function plansOf(path: string, work: () => Promise<unknown>): Promise<string[]> {
  const { all } = StatementSync.prototype
  const sent = new Set<string>()
  vi.spyOn(StatementSync.prototype, 'all').mockImplementation(function (this: StatementSync, ...params) {
    sent.add(this.sourceSQL)
    return all.apply(this, params)
  })
  await work()
  vi.restoreAllMocks()
  const connection = new DatabaseSync(path, { readOnly: true })
  try {
    const lists = [...sent].filter((sql) => sql.includes('ORDER BY created_at DESC'))
    return lists.flatMap((sql) =>
      connection
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => String(detail)),
    )
  } finally {
    connection.close()
  }
}

test('a list of sessions walks the index of sessions, and sorts nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-'))
  const path = join(folder, 'store.db')
  const store = sqliteStore({ path })
  try {
    await store.putConversation('c1', { agent: 'support' })
    await store.putConversation('s1', { kind: 'flow', agent: 'flow:order' })
    await store.putConversation('s2', { kind: 'flow', agent: 'flow:order' })
    const ids = async (before?: string) =>
      (await store.listConversations({ kind: 'flow', ...(before ? { before } : {}) })).map(({ id }) => id)
    expect([await ids(), await ids('s2')]).toEqual([['s2', 's1'], ['s1']])
    const plans = await plansOf(path, () => ids('s2'))
    expect(plans[0]).toContain('SEARCH conversations USING INDEX conversations_sessions (tenant=? AND (created_at,id)<')
    expect(plans.filter((plan) => /SCAN|TEMP B-TREE/.test(plan))).toEqual([])
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
})
