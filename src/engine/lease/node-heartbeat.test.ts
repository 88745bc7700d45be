import { expect, test } from 'vitest'
import { StoreClosedError, StoreError } from '../../base/errors/store-errors.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { NodeDrain, NodeHeartbeat } from './node-heartbeat.ts'

/** A drain of a node that holds one conversation. */
function draining() {
  const clock = fakeClock()
  const closed: string[] = []
  const owner = { close: async () => void closed.push('c') }
  const drain = new NodeDrain(clock, () => [{ owner }, { owner: null }])
  return { clock, closed, drain }
}

test('a node that drains takes nothing at once, and hands over what it holds when its time is over', async () => {
  const { clock, closed, drain } = draining()
  drain.begin(10_000)
  expect([drain.isOn, drain.isOver, closed]).toEqual([true, false, []])
  // A second request does not move the end.
  drain.begin(60_000)
  await clock.advance(10_000)
  expect([drain.isOn, drain.isOver, closed]).toEqual([true, true, ['c']])
})

test('a node that may work again before its time is over hands over nothing', async () => {
  const { clock, closed, drain } = draining()
  drain.begin(10_000)
  drain.end()
  await clock.advance(60_000)
  expect([drain.isOn, drain.isOver, closed]).toEqual([false, false, []])
})

test('a heartbeat goes on when the store fails, and ends without a word when the store is closed', async () => {
  const clock = fakeClock()
  const failures: Error[] = [new StoreError('the connection was lost'), new StoreClosedError()]
  const [beats, warned]: [number[], string[]] = [[], []]
  const nodes = {
    beat: async () => {
      beats.push(clock.now())
      const failure = failures.shift()
      if (failure) throw failure
      return null
    },
    leave: async () => {},
  }
  const node = {
    ...{ store: { nodes }, holder: 'n1', leaseMs: 3_000, clock, maxConcurrentTurns: 1, agents: new Map() },
    ...{ flows: { sessionAgents: () => [] }, warnOfStore: (text: string) => void warned.push(text) },
  }
  const heartbeat = new NodeHeartbeat(node as never, { works: true, onDrain: () => {} })
  heartbeat.start()
  for (let beat = 0; beat < 5; beat++) await clock.advance(1_000)
  expect(beats).toHaveLength(2)
  expect(warned).toEqual(['announcing this node to the store failed; trying again'])
  await heartbeat.stop()
})
