import type { NodeBeat, NodeState, Nodes } from '../../store/nodes.ts'
import { userMsg } from './event-builders.ts'
import type { Bench, Suite } from './suite.ts'

const worker: NodeBeat = {
  holder: 'worker',
  version: '1.2.3',
  works: true,
  capacity: 256,
  agents: ['ann', 'flow:refund'],
  agentCount: 2,
  everyMs: 3_000,
  drain: null,
}
const api: NodeBeat = { ...worker, holder: 'api', works: false }

/** For stores that offer a registry of nodes; the others have no such obligation. */
export function nodes({ describe, test, testTwoStores, testLeaping, expect, refused }: Suite): void {
  type NodesBench = Bench & { nodes: Nodes }
  const testNodes = (name: string, body: (bench: NodesBench) => Promise<void>): void =>
    test(name, async (bench) => {
      const { nodes: offered } = bench.store
      if (!offered) return
      await body({ ...bench, nodes: offered })
      // A shared store is emptied by tenant, and nodes belong to none.
      for (const { holder } of await offered.list()) await offered.leave(holder)
    })

  describe('nodes', () => {
    testNodes(
      'the work of one agent is listed without that of others, in each state',
      async ({ store, nodes, pass }) => {
        const agents = ['ann', 'bob']
        for (const agent of agents) {
          for (const id of ['due', 'held', 'poison'])
            await store.commit(`${id} ${agent}`, { events: [userMsg()], conversation: { agent } })
          await store.acquireLease(`held ${agent}`, 'worker', 60_000)
          for (let lapse = 0; lapse < 6; lapse++) {
            await store.claimLease(`poison ${agent}`, `dead-${lapse}`, 1)
            await pass(5)
          }
        }
        const found = async (state: 'due' | 'held' | 'quarantined', agent?: string) =>
          (await nodes.work({ state, ...(agent === undefined ? {} : { agent }) })).map(({ id }) => id).sort()
        for (const [state, id] of [
          ['due', 'due'],
          ['held', 'held'],
          ['quarantined', 'poison'],
        ] as const) {
          expect(await found(state)).toEqual(agents.map((agent) => `${id} ${agent}`))
          for (const agent of agents) expect(await found(state, agent)).toEqual([`${id} ${agent}`])
        }
      },
    )

    testNodes('a node is listed with what it said, from its first beat until it leaves', async ({ nodes }) => {
      expect(await nodes.beat(worker)).toBe(null)
      await nodes.beat(api)
      await nodes.beat({ ...worker, agents: ['bob'], agentCount: 1 })
      const listed = await nodes.list()
      expect(listed.map(({ holder }) => holder).sort()).toEqual(['api', 'worker'])
      const known = stateOf(listed, 'worker')!
      expect(known).toMatchObject({ version: '1.2.3', works: true, capacity: 256, agents: ['bob'], agentCount: 1 })
      expect(known).toMatchObject({ held: 0, nextLapseAt: null, isSilent: false, drain: null })
      expect(known.startedAt! <= known.seenAt!).toBe(true)
      expect(stateOf(listed, 'api')!.works).toBe(false)
      await nodes.leave('worker')
      await nodes.leave('worker')
      expect((await nodes.list()).map(({ holder }) => holder)).toEqual(['api'])
    })

    testNodes('what a node holds is counted from its leases, over all tenants', async ({ store, nodes }) => {
      await nodes.beat(worker)
      await store.commit('one', { events: [userMsg()] })
      await store.forTenant('acme').commit('two', { events: [userMsg()] })
      const lease = await store.acquireLease('one', 'worker', 60_000)
      await store.forTenant('acme').acquireLease('two', 'worker', 50_000)
      const held = stateOf(await nodes.list(), 'worker')!
      expect(held.held).toBe(2)
      expect(held.nextLapseAt! <= held.seenAt! + 55_000).toBe(true)
      await store.releaseLease('one', lease!.epoch)
      expect(stateOf(await nodes.list(), 'worker')!.held).toBe(1)
    })

    testNodes('a holder of leases that never said it lives is listed last', async ({ store, nodes }) => {
      await store.commit('one', { events: [userMsg()] })
      await store.acquireLease('one', 'an older version', 60_000)
      await nodes.beat(worker)
      const listed = await nodes.list()
      expect(listed.map(({ holder }) => holder)).toEqual(['worker', 'an older version'])
      expect(listed[1]).toMatchObject({ version: null, held: 1, agents: [], seenAt: null, drain: null })
    })

    testNodes('a quarantine is no node', async ({ store, nodes, pass }) => {
      await store.commit('poison', { events: [userMsg()] })
      for (const holder of ['a', 'b', 'c', 'd', 'e', 'f']) {
        await store.claimLease('poison', holder, 1)
        await pass(5)
      }
      expect((await store.getConversation('poison'))?.quarantine === null).toBe(false)
      expect(await nodes.list()).toEqual([])
    })

    testNodes(
      'a drain is told with the next beat, with who asked for it, until it is taken back',
      async ({ nodes }) => {
        await nodes.beat(worker)
        expect(await nodes.drain('worker', { who: 'ops/ada', reason: 'new kernel \u0000', drainMs: 5_000 })).toBe(true)
        const drain = await nodes.beat(worker)
        expect(drain).toMatchObject({ who: 'ops/ada', reason: 'new kernel \u0000', drainMs: 5_000 })
        expect(stateOf(await nodes.list(), 'worker')!.drain).toEqual(drain)
        expect(await nodes.drain('worker', { who: 'ops/bob', drainMs: 1 })).toBe(true)
        expect(await nodes.beat(worker)).toEqual(drain)
        expect(await nodes.undrain('worker', { who: 'ops/bob' })).toBe(true)
        expect(await nodes.undrain('worker', { who: 'ops/bob' })).toBe(false)
        expect(await nodes.beat(worker)).toBe(null)
        expect(await nodes.drain('no such node', { who: 'ops/ada', drainMs: 1 })).toBe(false)
      },
    )

    testNodes('a drain that the store has forgotten with its node comes back with the node', async ({ nodes }) => {
      await nodes.beat(worker)
      await nodes.drain('worker', { who: 'ada', drainMs: 1 })
      const drain = await nodes.beat(worker)
      await nodes.leave('worker')
      expect(await nodes.beat({ ...worker, drain })).toEqual(drain)
      await nodes.undrain('worker', { who: 'ops/bob' })
      expect(await nodes.beat({ ...worker, drain })).toBe(null)
    })

    testLeaping('a node that misses beats is silent, and later forgotten', async ({ store, leap }) => {
      const { nodes: offered } = store
      if (!offered) return
      await offered.beat(worker)
      await offered.beat({ ...worker, holder: 'other' })
      await leap(9_000)
      expect(stateOf(await offered.list(), 'worker')!.isSilent).toBe(false)
      await leap(1)
      expect(stateOf(await offered.list(), 'worker')!.isSilent).toBe(true)
      await offered.beat({ ...worker, holder: 'other' })
      await leap(51_000)
      expect((await offered.list()).map(({ holder }) => holder)).toEqual(['other'])
      expect(await offered.drain('worker', { who: 'ada', drainMs: 1 })).toBe(false)
      await offered.beat({ ...worker, holder: 'other' })
    })

    testTwoStores('nodes are seen by every process', async ({ store, other }) => {
      if (!store.nodes || !other.nodes) return
      await store.nodes.beat(worker)
      await other.nodes.beat(api)
      expect((await store.nodes.list()).map(({ holder }) => holder).sort()).toEqual(['api', 'worker'])
      await other.nodes.drain('worker', { who: 'ada', drainMs: 1 })
      expect(await store.nodes.beat(worker)).toMatchObject({ who: 'ada' })
    })

    testNodes('more agents than a node names are counted', async ({ nodes }) => {
      const agents = Array.from({ length: 600 }, (_, index) => `agent ${index}`)
      await nodes.beat({ ...worker, agents, agentCount: 600 })
      const known = stateOf(await nodes.list(), 'worker')!
      expect([known.agents.length, known.agents[499], known.agentCount]).toEqual([500, 'agent 499', 600])
    })

    testNodes('senseless beats and drains are refused', async ({ nodes }) => {
      await refused('invalid_argument', () => nodes.beat({ ...worker, capacity: -1 }))
      await refused('invalid_argument', () => nodes.beat({ ...worker, everyMs: 0 }))
      await refused('invalid_argument', () => nodes.beat({ ...worker, works: 'yes' as never }))
      await refused('invalid_argument', () => nodes.leave('quarantined'))
      await refused('invalid_id', () => nodes.drain('worker', { who: '', drainMs: 1 }))
      await refused('invalid_argument', () => nodes.drain('worker', { who: 'ada', drainMs: -1 }))
      await refused('invalid_argument', () =>
        nodes.drain('worker', { who: 'ada', drainMs: 1, reason: 'x'.repeat(1_001) }),
      )
    })
  })
}

function stateOf(states: readonly NodeState[], holder: string): NodeState | undefined {
  return states.find((state) => state.holder === holder)
}
