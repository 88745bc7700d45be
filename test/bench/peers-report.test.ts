import { expect, test } from 'vitest'
import { chart } from '../../bench/peers/chart.ts'
import { tables, timesPerdure, withTables } from '../../bench/peers/report.ts'
import { type PeersResults, type SubjectResult, workloads } from '../../bench/peers/results.ts'

const ours = subject('perdure-sqlite', 'Perdure', {
  turn_ms_at_1: 2,
  turn_ms_at_10: 2,
  turns_per_s_of_16: 1_000,
  megabytes: 2,
})
const slow = subject('slow-sqlite', 'Slow & <old>', {
  turn_ms_at_1: 8,
  turn_ms_at_10: 300,
  turns_per_s_of_16: 100,
  megabytes: 1_575.4,
  effects_of_two_approvals: 2,
})
const fast = subject('fast-file', 'Fast', { turn_ms_at_1: 1, turn_ms_at_10: 1.96, megabytes: 0.5 }, 'file')
const results: PeersResults = {
  form: 'full',
  day: '2026-11-19',
  minutes: 11.2,
  machine: {
    processor: 'Some',
    processors: 2,
    memoryGb: 25,
    system: 'Linux 6',
    node: 'v24.0.0',
    postgres: '18.4',
    load: [0.1, 1.2],
  },
  versions: { perdure: '0.2.0', slow: '1.0.0' },
  postgresSettings: { fsync: 'on' },
  lengths: [1, 10],
  rounds: 2,
  subjects: [ours, slow, fast, { ...subject('gone-postgres', 'Gone', {}, 'postgres'), notRun: 'it did not install' }],
}

test('a figure has beside it how many times as slow or as large it is as that of Perdure on the same store', () => {
  const [turn, , rate] = workloads(results.lengths)
  expect(timesPerdure(results, slow, turn!)).toBe(4)
  expect(timesPerdure(results, slow, rate!)).toBe(10)
  expect(timesPerdure(results, fast, turn!)).toBe(0.5)
  expect(timesPerdure(results, ours, turn!)).toBeNull()
  const rows = tables(results).split('\n')
  expect(rows).toContain('| **Perdure, SQLite** | 2.00 | 2.00 | 1,000 | - |')
  expect(rows).toContain('| Slow & <old>, SQLite | 8.00 (4.00x) | 300 (150x) | 100 (10.0x) | - |')
  expect(rows).toContain('| Fast, a file | 1.00 (0.50x) | 1.96 (0.98x) | - | - |')
})

test('where Perdure is slower or larger is listed, and a difference within the noise is not', () => {
  const [, list] = tables(results).split('### Where Perdure is slower or larger')
  expect(list).toContain('- Fast, a file: turn 1 (2.00x), on disk after 10 turns (4.00x)\n')
  expect(list).not.toContain('- Slow')
})

test('our saver counts as ours: what is slower or larger with it than with the official one is listed too', () => {
  const official = subject('langgraph-sqlite', 'LangGraph', {
    turn_ms_at_1: 5,
    megabytes: 600,
    effects_of_two_approvals: 1,
  })
  const saver = subject('langgraph-perdure', 'LangGraph, PerdureSaver', {
    turn_ms_at_1: 10,
    megabytes: 6,
    effects_of_two_approvals: 2,
  })
  const [, list] = tables({ ...results, subjects: [ours, official, saver] }).split(
    '### Where Perdure is slower or larger',
  )
  expect(list).toContain('- LangGraph, SQLite, beside the same with PerdureSaver: turn 1 (2.00x)\n')
})

test('a subject that did not run has a row that says so, with its reason, and settings are told as they were read', () => {
  const all = tables(results)
  expect(all).toContain('| Gone, Postgres | not run | not run | not run | not run |')
  expect(all).toContain('- Gone, Postgres was not run to the end: it did not install')
  expect(all).toContain('| **Perdure, SQLite** | `synchronous = 2` |')
  expect(all).toContain('| all on Postgres | `fsync = on` |')
})

test('the tables take the place of the ones before in a page, and the rest of the page stays', () => {
  const page =
    '# Title\n\n<!-- figures: written by `npm run bench -- peers` -->\nold\n<!-- end of figures -->\n\nThe rest.\n'
  const once = withTables(page, results)
  expect(once).toMatch(/^# Title\n/)
  expect(once).toMatch(/\nThe rest\.\n$/)
  expect(once).not.toContain('old\n')
  expect(withTables(once, results)).toBe(once)
  expect(() => withTables('# Title', results)).toThrow('has no')
})

test('the chart draws each subject that has figures, in well-formed lines, and longer bars for more bytes', () => {
  const svg = chart(results)
  expect(svg).not.toMatch(/NaN|Infinity|undefined/)
  expect(svg.match(/<polyline/g)).toHaveLength(3)
  expect(svg).toContain('Slow &amp; &lt;old&gt;')
  const widths = [...svg.matchAll(/<rect class="bar[^"]*" [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width))
  expect(widths).toHaveLength(3)
  expect(widths).toEqual(widths.toSorted((one, other) => one - other))
  for (const tag of ['svg', 'text', 'style', 'title'])
    expect(svg.split(`<${tag}`).length, tag).toBe(svg.split(`</${tag}>`).length)
})

function subject(
  id: string,
  label: string,
  figures: Readonly<Record<string, number>>,
  store: SubjectResult['store'] = 'sqlite',
): SubjectResult {
  return { id, label, store, settings: store === 'sqlite' ? { synchronous: 2 } : {}, figures }
}
