import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { perdure, perdureJson, startPerdure } from '../cli/perdure.ts'
import { freshDatabase } from '../setup/fresh-database.ts'
import { until } from '../stories/until.ts'
import { liveIn } from './lived-in-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'perdure-upkeep-'))
const path = (name: string): string => join(folder, name)
const source = path('source.db')
afterAll(() => rmSync(folder, { recursive: true }))

beforeAll(async () => {
  const store = sqliteStore({ path: source, logger: silentLogger })
  await liveIn(store)
  await store.close()
})

test('export | import goes to another backend, and comes back identical by doctor (postgres)', async () => {
  const postgres = await freshDatabase(inject('postgresUrl'))
  const there = await piped(['export', '--store', source], ['import', '--store', postgres])
  expect(there).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Imported \d+ conversations into postgres:/) })
  const back = await piped(['export', '--store', postgres], ['import', '--store', path('back.db')])
  expect(back.code).toBe(0)
  const examined = await Promise.all(
    [source, postgres, path('back.db')].map((store) => lastOf(['doctor', '--store', store])),
  )
  expect(examined[0]).toMatchObject({ type: 'examination', faults: 0, notices: 0, differences: 0 })
  expect(examined.map(({ digest }) => digest)).toEqual(examined.map(() => examined[0]!.digest))
})

describe('a store of Perdure 0.1', () => {
  test.each([
    // Of its first days, which had no rows for the questions of sessions.
    ['sqlite-schema-2', ['--repair']],
    ['sqlite-schema-15', []],
  ])('is moved by its export: %s', async (name, repair) => {
    const old = path(`${name}.db`)
    const exported = path(`${name}.jsonl`)
    const fixture = (end: string): Buffer =>
      gunzipSync(readFileSync(new URL(`../fixtures/0.1/stores/${name}.${end}.gz`, import.meta.url)))
    writeFileSync(old, fixture('db'))
    const refused = await perdure(['list', '--store', old])
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain(`npx perdure export old.jsonl --store '${old}'`)
    expect(readFileSync(old).equals(fixture('db'))).toBe(true)
    expect(readdirSync(folder).filter((file) => file.startsWith(`${name}.db`))).toEqual([`${name}.db`])
    // What 0.1 wrote when it was asked to.
    writeFileSync(exported, fixture('jsonl'))
    for (const to of [path(`${name}-moved.db`), await freshDatabase(inject('postgresUrl'))]) {
      const imported = await perdure(['import', exported, '--store', to])
      expect(imported).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Imported \d+ conversations/) })
      const compared = repair.length > 0 ? repair : ['--against', exported]
      expect((await perdure(['doctor', ...compared, '--store', to])).code).toBe(0)
      expect(await lastOf(['doctor', '--store', to])).toMatchObject({ faults: 0, notices: 0 })
    }
  })
})

test('a dash is stdout of an export, and stdin of an import and of what doctor compares with', async () => {
  const cwd = path('dashes')
  mkdirSync(cwd)
  const whole = await perdure(['export', '--store', source])
  const dashed = await perdure(['export', '-', '--store', source], { cwd })
  expect([dashed.code, dashed.stdout]).toEqual([0, whole.stdout])
  const imported = await perdure(['import', '-', '--store', 'copy.db'], { cwd, stdin: dashed.stdout })
  expect(imported).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Imported \d+ conversations/) })
  const compared = await perdure(['doctor', '--against', '-', '--store', 'copy.db'], { cwd, stdin: dashed.stdout })
  expect(compared.code).toBe(0)
  const differs = await perdure(['doctor', '--against', '-', '--store', 'copy.db'], {
    cwd,
    stdin: (await perdure(['export', '-', '--tenant', 'other', '--store', source])).stdout,
  })
  expect(differs.code).toBe(1)
  expect(readdirSync(cwd).filter((name) => name.startsWith('-'))).toEqual([])
})

test('an export in a file is there whole or not at all, and doctor compares with it', async () => {
  const file = path('all.jsonl')
  const { value } = await perdureJson(['export', file, '--store', source])
  expect(value).toMatchObject({
    file,
    conversations: expect.any(Number),
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([])
  expect((await perdure(['doctor', '--against', file, '--store', source])).code).toBe(0)
  const other = path('other.jsonl')
  await perdure(['export', other, '--tenant', 'other', '--store', source])
  const compared = await perdure(['doctor', '--against', other, '--store', source])
  expect(compared.code).toBe(1)
  expect(compared.stdout).toContain('difference: only the store has conversation default/plain')
  expect(compared.stdout).not.toContain('other/plain')
  expect((await perdure(['doctor', '--against', other, '--tenant', 'other', '--store', source])).code).toBe(0)
})

test('an export whose reader goes away has failed, and a list has not', async () => {
  const codes = ['export', 'list'].map(async (command) => {
    const running = startPerdure([command, '--store', source])
    running.process.stdout.destroy()
    return (await running.ended).code
  })
  expect(await Promise.all(codes)).toEqual([1, 0])
})

test('an export to compare with that is not there is told before anything is done', async () => {
  const store = path('to-repair.db')
  await piped(['export', '--store', source], ['import', '--store', store])
  const db = new DatabaseSync(store)
  db.exec("UPDATE conversations SET status = 'idle' WHERE id = 'waiting'")
  db.close()
  const ended = await perdure(['doctor', '--repair', '--against', path('nowhere.jsonl'), '--store', store])
  expect([ended.code, ended.stdout]).toEqual([2, ''])
  expect(ended.stderr).toContain("nowhere.jsonl'")
})

test('an import of nothing makes the store, too, and what is no export makes none', async () => {
  const nothing = path('nothing.jsonl')
  await perdure(['export', nothing, '--tenant', 'nobody', '--store', source])
  expect((await perdure(['import', nothing, '--store', path('nothing.db')])).code).toBe(0)
  expect((await perdure(['doctor', '--against', nothing, '--store', path('nothing.db')])).code).toBe(0)
  expect((await perdure(['import', '--store', path('none.db')], { stdin: 'no export\n' })).code).toBe(2)
  expect(readdirSync(folder)).not.toContain('none.db')
})

test('import refuses what is there, what is cut off, and what is damaged, and says what to do', async () => {
  const file = path('some.jsonl')
  await perdure(['export', file, '--store', source])
  const again = await perdure(['import', file, '--store', source])
  expect([again.code, again.stderr]).toEqual([4, expect.stringMatching(/^error The store already has /)])
  const skipping = await perdureJson(['import', file, '--skip-existing', '--store', source])
  expect(skipping).toMatchObject({ code: 0, value: { conversations: 0 } })
  const text = readFileSync(file, 'utf8')
  writeFileSync(path('cut.jsonl'), text.slice(0, -40))
  const cut = await perdure(['import', path('cut.jsonl'), '--store', path('cut.db')])
  expect([cut.code, cut.stderr]).toEqual([
    2,
    expect.stringMatching(/Line \d+ of the export is not valid: it is cut off/),
  ])
  expect(cut.stderr).not.toContain('    at ')
})

test('an import that is killed leaves whole conversations, and is begun again', async () => {
  const file = path('killed.jsonl')
  const { value: whole } = await perdureJson(['export', file, '--store', source])
  const text = readFileSync(file)
  const store = path('killed.db')
  const importing = startPerdure(['import', '--store', store])
  // In the middle of the longest conversation.
  importing.process.stdin.write(text.subarray(0, text.indexOf('"id":"long"') + 20_000))
  const copied = sqliteStore({ path: store, logger: silentLogger, expiry: false })
  await until(async () => (await copied.listConversations({ limit: 100 })).length >= 5)
  importing.process.kill('SIGKILL')
  expect((await importing.ended).code).toBe(null)
  const { faults, conversations } = await examineStore(copied)
  await copied.close()
  expect(faults).toBe(0)
  expect(conversations).toBeLessThan(whole.conversations)
  const again = await perdureJson(['import', file, '--skip-existing', '--store', store])
  expect(again.value).toEqual({ conversations: whole.conversations - conversations, skipped: conversations })
  expect(await lastOf(['doctor', '--against', file, '--store', store])).toMatchObject({
    digest: whole.digest,
    faults: 0,
    differences: 0,
  })
})

test('doctor names what was corrupted, repairs it, and tells what it did', async () => {
  const store = path('sick.db')
  await piped(['export', '--store', source], ['import', '--store', store])
  const before = await lastOf(['doctor', '--store', store])
  const db = new DatabaseSync(store)
  db.exec("UPDATE conversations SET status = 'idle' WHERE id = 'waiting'")
  db.close()
  const found = await perdure(['doctor', '--store', store])
  expect(found.code).toBe(1)
  expect(found.stdout).toContain(
    "fault status_differs default/waiting: its status is 'idle', the log says 'suspended'.",
  )
  const repaired = await perdure(['doctor', '--repair', '--store', store])
  expect(repaired.code).toBe(0)
  expect(repaired.stdout).toContain("repaired default/waiting:\n  status_differs: its status is 'idle'")
  expect((await lastOf(['doctor', '--store', store])).digest).toBe(before.digest)
})

test('migrate says from where to where, and with --check only looks', async () => {
  const store = path('old.db')
  const db = new DatabaseSync(store)
  db.close()
  const check = await perdure(['migrate', '--check', '--store', store])
  expect([check.code, check.stdout]).toEqual([1, expect.stringMatching(/has schema 0; this version writes \d/)])
  expect(new DatabaseSync(store).prepare('PRAGMA user_version').get()).toEqual({ user_version: 0 })
  const { value } = await perdureJson(['migrate', '--store', store])
  expect(value).toEqual({ from: 0, to: expect.any(Number), isCurrent: false })
  expect((await perdure(['migrate', '--check', '--store', store])).code).toBe(0)
  new DatabaseSync(store).exec('PRAGMA user_version = 999')
  const newer = await perdure(['migrate', '--check', '--store', store])
  expect([newer.code, newer.stderr]).toEqual([5, expect.stringContaining('The store has schema 999')])
})

test('gc counts first, and removes only what is not needed', async () => {
  const store = path('full.db')
  await piped(['export', '--store', source], ['import', '--store', store])
  const options = ['--audit-older-than', '0s', '--unsent', '--store', store]
  const counted = await perdureJson(['gc', '--dry-run', ...options])
  expect(counted.value).toMatchObject({ dryRun: true, blobs: 0, pins: 1, orphans: 0 })
  expect(counted.value.modelCalls).toBeGreaterThan(0)
  const { modelCalls } = counted.value
  const removed = await perdureJson(['gc', '--compact', ...options])
  expect(removed.value).toMatchObject({ modelCalls, pins: 1, blobs: 1, blobBytes: 400_000, isCompacted: true })
  expect(await lastOf(['doctor', '--store', store])).toMatchObject({ faults: 0 })
  const wrong = await perdure(['gc', '--audit-older-than', 'soon', '--store', store])
  expect(wrong.code).toBe(2)
})

/** Two real processes, one piped into the other. */
async function piped(from: readonly string[], to: readonly string[]) {
  const left = startPerdure(from)
  const right = startPerdure(to)
  left.process.stdout.pipe(right.process.stdin)
  left.process.stdin.end()
  const [written, read] = await Promise.all([left.ended, right.ended])
  expect([written.code, written.stderr]).toEqual([0, expect.stringContaining('Exported')])
  return read
}

async function lastOf(args: readonly string[]) {
  const { stdout } = await perdure([...args, '--json'])
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!)
}
