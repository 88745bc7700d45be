import { expect, test } from 'vitest'
import type { Change } from '../change.ts'
import { prepareChange } from '../prepare-change.ts'
import type { SlotLimits } from '../slots.ts'
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

test('limits of one change are in the statement for all', () => {
  const within = (limits: SlotLimits): Change => ({ ...leased, acquire: { holder: 'n1', ttlMs: 1_000, limits } })
  const textFor = (...changes: Change[]) => {
    const addressed = changes.map((change, n) => ({ tenant: 'default', id: `c${n}`, change: prepareChange(change) }))
    return commitQuery('perdure', addressed, false).statement.text
  }
  const names = ['l_tenant_limit', 'l_agent_limit', 'l_account ', 'l_account_limit']
  const namesIn = (text: string) => names.filter((name) => text.includes(name))
  expect(namesIn(textFor(leased, within({})))).toEqual([])
  expect(namesIn(textFor(leased, within({ tenant: 2 })))).toEqual(names)
  expect(namesIn(textFor(within({ account: { name: 'a' } }), leased))).toEqual(names)
})
