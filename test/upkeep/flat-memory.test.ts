import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/logger/logger.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { startPerdure } from '../cli/perdure.ts'
import { freshDatabase } from '../setup/fresh-database.ts'
import { fillLog, fillStore } from './fill-store.ts'

/** A short form of `npm run upkeep`: no process may hold what it copies, because its heap is smaller than that. */
test('export, import and doctor copy what is larger than their heap', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-upkeep-'))
  try {
    const [source, copy] = ['source.db', 'copy.db'].map((name) => join(folder, name))
    const store = sqliteStore({ path: source!, logger: silentLogger })
    await fillStore(store, 100)
    await fillLog(store, 'long', 500, 250_000)
    await store.close()
    const postgres = await freshDatabase(inject('postgresUrl'))
    const digest = await copied(source!, postgres)
    expect(await copied(postgres, copy!)).toBe(digest)
    expect(await digestOf(copy!)).toBe(digest)
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 120_000)

/** The long conversation alone has 60 MB. */
const env = { NODE_OPTIONS: '--max-old-space-size=48' }

/** Returns the digest that the export tells. */
async function copied(from: string, to: string): Promise<string> {
  const left = startPerdure(['export', '--store', from], { env })
  const right = startPerdure(['import', '--store', to], { env })
  left.process.stdout.pipe(right.process.stdin)
  const [written, read] = await Promise.all([left.ended, right.ended])
  expect([written.code, read.code, written.stderr]).toEqual([
    0,
    0,
    expect.stringContaining('Exported 101 conversations'),
  ])
  return /Digest: (\w+)/.exec(written.stderr)![1]!
}

async function digestOf(store: string): Promise<string> {
  const doctor = startPerdure(['doctor', '--json', '--store', store], { env })
  const { code, stdout } = await doctor.ended
  expect([store, code]).toEqual([store, 0])
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!).digest
}
