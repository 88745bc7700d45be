import { expect, test } from 'vitest'
import { announcementOf, Takers, tokenOf } from './takers.ts'

function known(agents: Readonly<Record<string, readonly string[] | 'any'>>) {
  let now = 0
  const takers = new Takers(() => now)
  for (const [worker, names] of Object.entries(agents)) takers.heard({ worker, agents: names })
  return { takers, pass: (ms: number) => void (now += ms) }
}

const ids = Array.from({ length: 3_000 }, (_, n) => `chat-${n}`)

test('conversations spread evenly over the workers, and each stays with its own', () => {
  const { takers } = known({ one: ['a'], two: ['a'], three: ['a'] })
  const chosen = ids.map((id) => takers.choose('acme', id, 'a'))
  for (const worker of ['one', 'two', 'three']) {
    const share = chosen.filter((taker) => taker === worker).length / ids.length
    expect(share).toBeGreaterThan(0.3)
    expect(share).toBeLessThan(0.37)
  }
  takers.heard({ worker: 'two', agents: null })
  const after = ids.map((id) => takers.choose('acme', id, 'a'))
  expect(after.filter((taker, n) => taker !== chosen[n] && chosen[n] !== 'two')).toEqual([])
  expect(after).not.toContain('two')
})

test('a worker without the agent is not chosen, and where the agent is not known only workers that are alike are', () => {
  const { takers } = known({ one: ['a'], two: ['b'], three: 'any' })
  const of = (agent: string | null) => [...new Set(ids.map((id) => takers.choose('acme', id, agent)))].toSorted()
  expect(of('a')).toEqual(['one', 'three'])
  expect(of('c')).toEqual(['three'])
  expect(of(null)).toEqual([null])
  expect(known({ one: ['a'], two: ['b'] }).takers.choose('acme', 'chat', 'c')).toBe(null)
  expect(known({ one: ['a', 'b'], two: ['a', 'b'] }).takers.choose('acme', 'chat', null)).not.toBe(null)
  expect(known({}).takers.choose('acme', 'chat', 'a')).toBe(null)
})

test('a worker that was not heard of for ten seconds is gone', () => {
  const { takers, pass } = known({ one: ['a'] })
  pass(10_000)
  expect(takers.choose('acme', 'chat', 'a')).toBe('one')
  pass(1)
  expect(takers.choose('acme', 'chat', 'a')).toBe(null)
})

test('agents that do not fit into a notification are announced as any', () => {
  const agents = Array.from({ length: 1_000 }, (_, n) => `agent-${n}`)
  const holder = 'runtime-0199a0b0-0000-7000-8000-0123456789ab'
  expect(announcementOf({ holder, agents: () => agents })).toEqual({ worker: tokenOf(holder), agents: 'any' })
  expect(announcementOf({ holder, agents: () => ['a'] })).toEqual({ worker: '0123456789ab', agents: ['a'] })
})
