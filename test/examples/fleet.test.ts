import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { freshDatabase } from '../setup/fresh-database.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

test('on postgres, a node dies in mid-turn and another finishes the turn, a second drains and the third does the work', async () => {
  const fromSource = join(root, 'test', 'support', 'perdure-from-source.ts')
  const args = ['--disable-warning=ExperimentalWarning', '--import', fromSource]
  const place = mkdtempSync(join(tmpdir(), 'perdure-fleet-'))
  const url = await freshDatabase(inject('postgresUrl'))
  const { stdout, stderr } = await run(process.execPath, [...args, join(root, 'examples', 'fleet', 'start.ts')], {
    cwd: place,
    env: { ...process.env, DATABASE_URL: url, TMPDIR: place },
  })
  expect({ stderr, left: readdirSync(place) }).toEqual({ stderr: '', left: [] })
  rmSync(place, { recursive: true })

  const lines = stdout.trimEnd().split('\n')
  const dead = /^(\w) was killed/m.exec(stdout)?.[1]
  const [idle, busy] = /^(\w) drains: .* and (\w) answers/m.exec(stdout)?.slice(1) ?? []
  expect([dead, idle, busy].sort()).toEqual(['a', 'b', 'c'])
  expect(lines).toEqual([
    expect.stringMatching(/^three nodes, one Postgres, one address: http:\/\/127\.0\.0\.1:\d+$/),
    'messages were answered by a, b, c',
    `${dead} writes, and its provider hangs: Once upon a time ...`,
    `${dead} was killed in mid-turn`,
    expect.stringMatching(/^the same page shows: Once upon a time a node died, and [abc] went on\.$/),
    `${idle} drains: it takes messages, and ${busy} answers all of them`,
    'all processes have ended',
  ])
  const storyteller = /and (\w) went on/.exec(stdout)?.[1]
  expect([idle, busy]).toContain(storyteller)
})
