import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { collectGarbage } from '../../src/upkeep/collect-garbage.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import type { Finding, FindingCode } from '../../src/upkeep/finding.ts'
import { until } from '../stories/until.ts'
import { exported, importText } from './exported.ts'
import { liveIn } from './lived-in-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-upkeep-'))
let text = ''
let count = 0
beforeAll(async () => {
  const store = sqliteStore({ path: join(folder, 'source.db'), logger: silentLogger })
  await liveIn(store)
  text = await exported(store)
  await store.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

const cid = (id: string): string => `(SELECT cid FROM conversations WHERE tenant = 'default' AND id = '${id}')`

/** What no log can give back. */
const damages: readonly (readonly [FindingCode, string, string])[] = [
  ['seq_gap', 'plain', `DELETE FROM events WHERE cid = ${cid('plain')} AND seq = 2`],
  ['event_unreadable', 'plain', `UPDATE events SET content = '{"turnId":' WHERE cid = ${cid('plain')} AND seq = 2`],
  ['event_invalid', 'plain', `UPDATE events SET content = '{}' WHERE cid = ${cid('plain')} AND seq = 1`],
  [
    'event_invalid',
    'waiting',
    `UPDATE events SET content = json_set(content, '$.args', json('${'['.repeat(600)}${']'.repeat(600)}')) WHERE cid = ${cid('waiting')} AND type = 'tool_call'`,
  ],
  ['event_unknown', 'plain', `UPDATE events SET type = 'from_the_future' WHERE cid = ${cid('plain')} AND seq = 2`],
  [
    'event_ignored',
    'plain',
    `UPDATE events SET content = '{"turnId":"no","status":"completed","reason":null}' WHERE cid = ${cid('plain')} AND seq = 3`,
  ],
  ['row_unreadable', 'plain', `UPDATE conversations SET settings = 'x' WHERE cid = ${cid('plain')}`],
  ['parent_missing', 'child', `UPDATE conversations SET id = 'renamed' WHERE cid = ${cid('family')}`],
  ['key_misplaced', 'plain', `UPDATE keys SET seq = 999 WHERE cid = ${cid('plain')}`],
  ['summary_misplaced', 'long', `UPDATE summaries SET to_seq = to_seq + 99999 WHERE cid = ${cid('long')}`],
  ['blob_damaged', '', "UPDATE blob_bytes SET bytes = x'00'"],
  ['blob_lost', '', 'DELETE FROM blob_bytes'],
  ['snapshot_unreadable', 'nobody', "UPDATE snapshots SET snapshot = 'x' WHERE id = 'nobody'"],
  [
    'lease_absurd',
    'plain',
    `UPDATE conversations SET lease_holder = 'x', lease_epoch = 1, lease_until = 99999999999999 WHERE cid = ${cid('plain')}`,
  ],
  [
    'lease_absurd',
    'plain',
    `UPDATE conversations SET lease_holder = 'x', lease_epoch = 99999, lease_until = 5 WHERE cid = ${cid('plain')}`,
  ],
  ['lease_absurd', 'plain', `UPDATE conversations SET lease_holder = 'x' WHERE cid = ${cid('plain')}`],
  ['orphaned_events', '', `DELETE FROM conversations WHERE cid = ${cid('plain')}`],
  ['agent_missing', 'due', `UPDATE conversations SET agent = NULL WHERE cid = ${cid('due')}`],
]

test('what no log can give back is named, and a repair leaves every event as it is', async () => {
  for (const [code, place, sql] of damages) {
    const { store, db } = await damaged(sql)
    const events = db.prepare('SELECT * FROM events ORDER BY id').all()
    const { findings, faults } = await look(store, true)
    const named = findings.filter((finding) => finding.code === code)
    expect([sql, named.length > 0, named.some(({ isDerived }) => isDerived), faults > 0]).toEqual([
      sql,
      true,
      false,
      true,
    ])
    if (place === '') expect(named[0]!.conversation).toBe(null)
    else if (place !== 'child') expect(new Set(named.map(({ conversation }) => conversation))).toEqual(new Set([place]))
    expect(named.every(({ advice, problem }) => /^[A-Z].*\.$/.test(advice) && problem !== '')).toBe(true)
    expect(db.prepare('SELECT * FROM events ORDER BY id').all()).toEqual(events)
    db.close()
    await store.close()
  }
}, 60_000)

test('a damaged conversation is told of once for each fault, and the others are still judged', async () => {
  const { store, db } = await damaged(damages[1]![2])
  db.exec("UPDATE conversations SET status = 'idle' WHERE id = 'waiting'")
  const { findings } = await look(store, true)
  expect(findings.map(({ code, conversation }) => [code, conversation]).sort()).toEqual([
    ['event_unreadable', 'plain'],
    ['status_differs', 'waiting'],
  ])
  expect((await look(store, false)).findings.map(({ code }) => code)).toEqual(['event_unreadable'])
  db.close()
  await store.close()
})

test('a store with text that is no JSON is copied as it is', async () => {
  const { store, db } = await damaged(damages[1]![2])
  db.exec(`UPDATE events SET content = '{ "b": 1,  "b": 1.0 }' WHERE cid = ${cid('answered')} AND seq = 2`)
  db.exec("UPDATE conversations SET fsm_state = 'garbage', title = '\"\\u0041\"' WHERE id = 'waiting'")
  const written = await exported(store)
  const copy = sqliteStore({ path: join(folder, 'copy.db'), logger: silentLogger, expiry: false })
  await importText(copy, written)
  expect(await exported(copy)).toBe(written)
  const read = db.prepare('SELECT content FROM events ORDER BY cid, seq').all()
  const copied = new DatabaseSync(join(folder, 'copy.db'))
  expect(copied.prepare('SELECT content FROM events ORDER BY cid, seq').all()).toEqual(read)
  copied.close()
  db.close()
  await copy.close()
  await store.close()
})

test('a row that cannot be read stops no other work, and is logged once', async () => {
  const path = join(folder, 'worked-on.db')
  const store = sqliteStore({ path, logger: silentLogger })
  const agents = [defineAgent({ name: 'helper', model: scriptedModel(() => 'Hello.') })]
  const asleep = createRuntime({ agents, store, work: false, logger: silentLogger })
  for (const id of ['bad', 'good']) await asleep.conversation(id, { agent: 'helper' }).send('Hi')
  await asleep.close()
  const db = new DatabaseSync(path)
  db.exec("UPDATE conversations SET fsm_state = 'garbage', wake_at = 1 WHERE id = 'bad'")
  const told: string[] = []
  const logger = { ...silentLogger, error: (text: string) => void told.push(text) }
  const awake = createRuntime({ agents, store, pollMs: 20, logger })
  await until(async () => (await store.getConversation('good'))?.status === 'idle')
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(told).toEqual(['a conversation cannot be worked on here'])
  db.exec("UPDATE conversations SET fsm_state = NULL WHERE id = 'bad'")
  await until(async () => (await store.getConversation('bad'))?.status === 'idle')
  await awake.close()
  db.close()
  await store.close()
})

test('a parent that waits for a child that is gone is found', async () => {
  const gone = await damaged(`DELETE FROM conversations WHERE child_of = 'family'`)
  const { findings } = await look(gone.store, false)
  expect(findings.map(({ code }) => code)).toContain('wake_up_missing')
  gone.db.close()
  await gone.store.close()
})

test('what nothing can reach is told of, and gc removes it', async () => {
  const { store, db } = await damaged(`DELETE FROM blob_refs WHERE cid = ${cid('plain')}`)
  db.exec('UPDATE blobs SET pins = 0')
  db.exec("INSERT INTO keys (cid, key, seq) VALUES (999999, 'k', 1)")
  const { findings } = await look(store, false)
  expect(findings.map(({ code }) => code)).toEqual(
    expect.arrayContaining(['blob_unreferenced', 'orphaned_rows', 'blob_ref_missing']),
  )
  // What an event refers to is given back its row before anything is removed.
  await look(store, true)
  const counted = await collectGarbage(store, { dryRun: true })
  expect(counted).toMatchObject({ blobs: 1, blobBytes: 400_000, orphans: 1 })
  expect(await collectGarbage(store)).toEqual(counted)
  expect((await look(store, false)).findings).toEqual([])
  db.close()
  await store.close()
})

async function damaged(sql: string) {
  const path = join(folder, `${++count}.db`)
  const store = sqliteStore({ path, logger: silentLogger, expiry: false })
  await importText(store, text)
  const db = new DatabaseSync(path, { timeout: 5_000 })
  db.exec(sql)
  return { store, db }
}

async function look(store: Store, repair: boolean) {
  const findings: Finding[] = []
  const examination = await examineStore(store, { repair, onFinding: (found) => findings.push(found) })
  return { ...examination, findings }
}
