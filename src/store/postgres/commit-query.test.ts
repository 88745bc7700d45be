import { expect, test } from 'vitest'
import type { Change } from '../change.ts'
import { prepareChange } from '../prepare-change.ts'
import { commitQuery } from './commit-query.ts'

const nameFor = (...changes: Change[]): string =>
  commitQuery(
    'perdure',
    changes.map((change, index) => ({ tenant: 'default', id: `c${index}`, change: prepareChange(change) })),
    false,
  ).statement.name

const titled: Change = { events: [{ type: 'titled', content: { title: 'A' } }] }
const known: Change = { ...titled, expectedSeq: 3, expectedAt: 5, expectedAgent: 'support' }
const idle: Change = { ...titled, epoch: 1, fsmState: { state: 'idle', pending: [], lastSeq: 4 } }
const ended: Change = { events: [{ type: 'turn_ended', content: { turnId: 't', status: 'completed', reason: null } }] }
const leased: Change = { ...titled, acquire: { holder: 'n1', ttlMs: 1_000, suspects: false } }

test('the name of a statement says which parameters it has, in fewer characters than Postgres cuts it at', () => {
  expect(nameFor(titled)).toMatch(/^commit_\d+$/)
  const all = nameFor(known, idle, ended, leased)
  expect(all).toMatch(/^commit_\d+_at_agent_needs_free_idle_seq_suspects$/)
  expect(all.length).toBeLessThan(64)
})

test('statements with other parameters have other names', () => {
  const names = [[titled], [known], [idle], [ended], [leased], [known, idle], [known, ended], [idle, leased]].map(
    (changes) => nameFor(...changes),
  )
  expect(new Set(names).size).toBe(names.length)
})
