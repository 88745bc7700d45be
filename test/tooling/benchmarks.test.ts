import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chart } from '../../bench/peers/chart.ts'
import { withTables } from '../../bench/peers/report.ts'
import type { PeersResults } from '../../bench/peers/results.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const results = JSON.parse(read('bench/results/peers.json')) as PeersResults

// `npm run bench -- peers` writes all three.
test('the tables of docs/benchmarks.md are those of bench/results/peers.json', () => {
  const page = read('docs/benchmarks.md')
  expect(page).toBe(withTables(page, results))
})

test('the chart of docs/benchmarks.md is drawn from bench/results/peers.json', () => {
  expect(read('docs/images/benchmarks.svg')).toBe(chart(results))
})

test('the figures were measured at the durability that docs/benchmarks.md promises', () => {
  expect(results.postgresSettings).toMatchObject({ fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' })
  const onSqlite = results.subjects.filter(({ store, notRun }) => store === 'sqlite' && notRun === undefined)
  expect(onSqlite.length).toBeGreaterThan(1)
  for (const { id, settings } of onSqlite) expect(settings, id).toMatchObject({ journal_mode: 'wal', synchronous: 2 })
})
