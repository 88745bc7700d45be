import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { startPerdure } from '../cli/perdure.ts'
import { freshDatabase } from '../setup/fresh-database.ts'
import { fillLog, fillStore } from './fill-store.ts'
import { serveStore } from './serve-store.ts'

/** A short form of `npm run upkeep`: no process may hold what it copies, because its heap is smaller than that. */
test('export, import and doctor copy what is larger than their heap, also by way of servers that have no more (postgres)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-upkeep-'))
  try {
    const source = join(folder, 'source.db')
    const store = sqliteStore({ path: source, logger: silentLogger })
    await fillStore(store, 100)
    await fillLog(store, 'long', 500, 250_000)
    await store.close()
    const postgres = await freshDatabase(inject('postgresUrl'))
    const digest = await copied(['--store', source], ['--store', postgres])
    const servers = [
      await serveStore(join(folder, 'from'), postgres, { env }),
      await serveStore(join(folder, 'to'), join(folder, 'served.db'), { env }),
    ] as const
    try {
      const [from, to] = servers.map(({ ways }) => ways.server)
      expect(await copied(from!, to!)).toBe(digest)
      expect(await digestOf(to!)).toBe(digest)
    } finally {
      for (const server of servers) await server.kill()
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 240_000)

/** The long conversation alone has 60 MB. */
const env = { NODE_OPTIONS: '--max-old-space-size=48' }

/** Returns the digest that the export tells. */
async function copied(from: readonly string[], to: readonly string[]): Promise<string> {
  const left = startPerdure(['export', ...from], { env })
  const right = startPerdure(['import', ...to], { env })
  left.process.stdout.pipe(right.process.stdin)
  // As a shell would: a write to a closed pipe fails.
  void right.ended.then(() => left.process.stdout.destroy())
  const [written, read] = await Promise.all([left.ended, right.ended])
  expect([read.code, read.stderr]).toEqual([0, expect.not.stringContaining('rror')])
  expect([written.code, written.stderr]).toEqual([0, expect.stringContaining('Exported 101 conversations')])
  return /Digest: (\w+)/.exec(written.stderr)![1]!
}

async function digestOf(place: readonly string[]): Promise<string> {
  const doctor = startPerdure(['doctor', '--json', ...place], { env })
  const { code, stdout } = await doctor.ended
  expect([place, code]).toEqual([place, 0])
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!).digest
}
