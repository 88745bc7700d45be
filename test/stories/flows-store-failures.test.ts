import { expect, test } from 'vitest'
import { StoreError } from '../../src/base/errors/store-errors.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import type { Change } from '../../src/store/change.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'
import { type Gate, gate } from './gate.ts'
import { overStores } from './over-stores.ts'

type Fault = (change: Change) => 'before' | 'after' | null

/** The same store, whose commits fail where they are told to: before they are made, or after, without an acknowledgement. */
function faultyStore(store: Store, fault: Fault): Store {
  function faulty<T extends Store | TenantStore>(target: T): T {
    return new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => faulty(store.forTenant(tenant))
        if (name !== 'commit') return member
        return async (id: string, change: Change) => {
          const moment = fault(change)
          if (moment === 'before') throw new StoreError('The disk is full. Make room.')
          const result = await (object as TenantStore).commit(id, change)
          if (moment === 'after') throw new StoreError('The answer was lost. Read the log.', { ambiguous: true })
          return result
        }
      },
    })
  }
  return faulty(store)
}

/** The first commit of the session's owner is made but not acknowledged, and meanwhile its lease goes to another node. */
function takenOver(store: Store, isTaken: Gate): { readonly store: Store } {
  let isDone = false
  function wrapped<T extends Store | TenantStore>(target: T): T {
    return new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => wrapped(store.forTenant(tenant))
        if (name !== 'commit') return member
        return async (id: string, change: Change) => {
          const result = await (object as TenantStore).commit(id, change)
          if (isDone || change.epoch === undefined || change.events.length === 0) return result
          isDone = true
          await store.releaseLease(id, change.epoch)
          if (!(await store.acquireLease(id, 'another node', 60_000))) throw new Error('the lease was not free')
          isTaken.open()
          throw new StoreError('The answer was lost. Read the log.', { ambiguous: true })
        }
      },
    })
  }
  return { store: wrapped(store) }
}

function counting(ifInterrupted: 'rerun' | 'report') {
  const runs: string[] = []
  const flow = defineFlow({
    name: 'counting',
    version: 1,
    run: async (flow) => {
      const results = []
      for (const name of ['a', 'b', 'c']) {
        results.push(
          await flow.step(name, { ifInterrupted }, () => {
            runs.push(name)
            return name
          }),
        )
      }
      return results
    },
  })
  return { flow, runs }
}

overStores('a store that fails for a while', (story) => {
  for (const moment of ['before', 'after'] as const) {
    for (const ifInterrupted of ['rerun', 'report'] as const) {
      test(`loses no result and runs no step twice: commits fail ${moment} they are made, steps say '${ifInterrupted}'`, async () => {
        const { flow, runs } = counting(ifInterrupted)
        let failures = 0
        const isOwners = (change: Change) => change.epoch !== undefined && change.events.length > 0
        // Every other commit of its owner.
        let commits = 0
        const store = faultyStore(story.openStore(), (change) => {
          if (!isOwners(change) || commits++ % 2 === 1) return null
          failures += 1
          return moment
        })
        const runtime = story.start({ agents: [], flows: [flow], store, pollMs: 20 })
        expect(await runtime.flow(flow, 's1').start(null)).toEqual({ status: 'done', result: ['a', 'b', 'c'] })
        expect(runs).toEqual(['a', 'b', 'c'])
        expect(failures).toBeGreaterThanOrEqual(3)
        const types = (await runtime.flow(flow, 's1').events()).map(({ type }) => type)
        const step = ['flow_opened', 'flow_outcome']
        expect(types).toEqual(['flow_started', ...step, ...step, ...step, 'flow_ended'])
      })
    }
  }

  test('a step is not begun by a node whose lease went to another node before it knew the outcome of its commit', async () => {
    const { flow, runs } = counting('rerun')
    const real = story.openStore()
    const isTaken = gate()
    const { store } = takenOver(real, isTaken)
    const runtime = story.start({ agents: [], flows: [flow], store, pollMs: 20 })
    const started = expect(runtime.flow(flow, 's1').start(null)).rejects.toMatchObject({ code: 'runtime_closed' })
    await isTaken.opened
    // Long enough for the node to read the log and go on, if it would.
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(runs).toEqual([])
    expect((await real.streamEvents('s1')).map(({ type }) => type)).toEqual(['flow_started', 'flow_opened'])
    await Promise.all([started, runtime.close({ drainMs: 0 })])
  })

  test('an answer whose acknowledgement was lost is given once more with its key, and counts once', async () => {
    const flow = defineFlow({
      name: 'asking',
      version: 1,
      run: async (flow) => [await flow.suspend('a'), await flow.suspend('b')],
    })
    let isLost = false
    const store = faultyStore(story.openStore(), ({ events }) => {
      if (isLost || !events.some((event) => event.type === 'flow_outcome')) return null
      isLost = true
      return 'after'
    })
    const runtime = story.start({ agents: [], flows: [flow], store, pollMs: 20 })
    const session = runtime.flow(flow, 's1')
    await session.start(null)
    await expect(session.resume(1, { key: 'click' })).rejects.toMatchObject({ code: 'store_failed' })
    expect(await session.resume(1, { key: 'click' })).toEqual({ status: 'waiting', tag: 'b' })
    expect(await session.resume(2)).toEqual({ status: 'done', result: [1, 2] })
  })
})
