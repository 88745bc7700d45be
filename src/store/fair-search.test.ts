import { expect, test } from 'vitest'
import { type DueConversation, type DueRows, FairSearch } from './fair-search.ts'
import { FreeSlots } from './slots.ts'

function due(counts: Readonly<Record<string, number>>, agent = 'support'): DueConversation[] {
  return Object.entries(counts).flatMap(([tenant, count]) =>
    Array.from({ length: count }, (_, n) => ({ tenant, id: `${tenant}${n}`, agent, wakeAt: n })),
  )
}

/** `reads`: how many rows were asked for. */
function rowsOver(all: readonly DueConversation[]) {
  const reads = { rows: 0 }
  const rows: DueRows = {
    tenantsAfter: (after, limit) =>
      [...new Set(all.map(({ tenant }) => tenant))]
        .sort()
        .filter((tenant) => after === null || tenant > after)
        .slice(0, limit),
    rowsOf: (tenant, agents, limit) => {
      const found = agents.flatMap((agent) =>
        all.filter((row) => row.tenant === tenant && row.agent === agent).slice(0, limit),
      )
      reads.rows += found.length
      return found
    },
  }
  return { rows, reads }
}

const counted = (found: readonly DueConversation[]) =>
  Object.fromEntries([...Map.groupBy(found, ({ tenant }) => tenant)].map(([tenant, rows]) => [tenant, rows.length]))

test('each tenant gets its share, and what some do not need goes to the others', () => {
  const { rows, reads } = rowsOver(due({ big: 10_000, a: 1, b: 3, c: 100 }))
  const found = new FairSearch().find({ agents: ['support'], limit: 32, slots: null }, rows)
  expect(counted(found)).toEqual({ big: 14, a: 1, b: 3, c: 14 })
  expect(
    found
      .slice(0, 4)
      .map(({ tenant }) => tenant)
      .sort(),
  ).toEqual(['a', 'b', 'big', 'c'])
  expect(reads.rows).toBeLessThan(4 * 32)
})

test('where there are more tenants than places, searches go round them', () => {
  const { rows } = rowsOver(due({ a: 5, b: 5, c: 5, d: 5, e: 5 }))
  const search = new FairSearch()
  const next = () =>
    search
      .find({ agents: ['support'], limit: 2, slots: null }, rows)
      .map(({ tenant }) => tenant)
      .sort()
  expect([next(), next(), next()]).toEqual([
    ['a', 'b'],
    ['c', 'd'],
    ['a', 'e'],
  ])
})

test('free slots are given out once, over tenants, agents and accounts', () => {
  const all = [...due({ a: 9, b: 9 }), ...due({ a: 9, b: 9 }, 'sales'), ...due({ a: 2 }, 'flow:f')]
  const limits = {
    tenant: 3,
    agents: new Map([
      ['support', { agent: 2 }],
      ['sales', { account: { name: 'x', turns: 3 } }],
    ]),
  }
  const held = [{ tenant: 'a', agent: 'support', account: null, count: 1 }]
  const agents = ['support', 'sales', 'flow:f']
  const slots = new FreeSlots(limits, held)
  const found = new FairSearch().find({ agents, limit: 30, slots }, rowsOver(all).rows)
  const of = (agent: string) => found.filter((row) => row.agent === agent).length
  expect([of('support'), of('sales'), of('flow:f')]).toEqual([1, 3, 2])
  expect(found.filter(({ tenant, agent }) => tenant === 'a' && agent !== 'flow:f').length).toBeLessThanOrEqual(2)
})
