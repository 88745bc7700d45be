import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { createScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { overStores } from '../stories/over-stores.ts'
import { until } from '../stories/until.ts'
import { exported, importText } from './exported.ts'
import { faultsIn } from './faults-in.ts'
import { fillStore } from './fill-store.ts'
import { livedInAgents, livedInFlows, liveIn } from './lived-in-store.ts'

overStores('a store that is used', (story) => {
  test('goes on after an import where it was: what was due is done, what waited is answered once', async () => {
    const store = story.openStore()
    await liveIn(store)
    const copy = story.openStore()
    await importText(copy, await exported(store))
    const runtime = story.start({ agents: livedInAgents, flows: livedInFlows, store: copy })
    await until(async () => (await copy.streamEvents('due')).at(-1)?.type === 'turn_ended')
    const waiting = runtime.conversation('waiting')
    const { pending } = await waiting.view()
    expect(pending.map(({ tool }) => tool)).toEqual(['pay', 'ask', 'browse'])
    const deadlines = (await store.pendingToolCalls('waiting')).map(({ expiresAt }) => expiresAt)
    expect((await copy.pendingToolCalls('waiting')).map(({ expiresAt }) => expiresAt)).toEqual(deadlines)
    expect(await waiting.approve(pending[0]!)).toEqual({ accepted: true })
    expect(await waiting.approve(pending[0]!)).toMatchObject({ accepted: false })
    await until(async () => (await waiting.view()).pending.length === 2)
    const family = runtime.as(createScope({ user: 'ann' })).conversation('family')
    const [asked] = (await runtime.inbox()).filter(({ path }) => path[0]?.conversationId === 'family')
    await runtime.conversation(asked!.conversationId).answer(asked!, 'fine')
    expect(await family.outcome()).toMatchObject({ status: 'completed', text: 'All done.' })
    const session = runtime.flow(livedInFlows[0], 'session-waiting')
    await session.resume('yes')
    expect(await session.outcome()).toMatchObject({ status: 'done' })
    await runtime.close()
    expect(await faultsIn(copy)).toEqual([])
  })

  test('is exported and examined while it is worked on: each export is whole, and nothing is found or hindered', async () => {
    const store = story.openStore()
    let isDone = false
    const filling = fillStore(story.reopen(store), 60).finally(() => {
      isDone = true
    })
    let looks = 0
    while (!isDone) {
      const copy = memoryStore({ logger: silentLogger })
      await importText(copy, await exported(store))
      expect(await faultsIn(copy)).toEqual([])
      const { faults } = await examineStore(store, { repair: true })
      expect(faults).toBe(0)
      looks += 1
      // A store in memory would never let the others run.
      await new Promise((resolve) => setImmediate(resolve))
    }
    await filling
    expect(looks).toBeGreaterThan(0)
    expect((await examineStore(store)).conversations).toBe(60)
    expect(await faultsIn(store)).toEqual([])
  })

  test('is not repaired while a process works on it, and is as soon as it is released', async () => {
    const store = story.openStore()
    const runtime = createRuntime({ agents: livedInAgents, store, work: false, logger: silentLogger })
    await runtime.conversation('due', { agent: 'echo' }).send('Hello')
    await runtime.close()
    await store.commit('due', { events: [], wakeAt: null })
    const lease = await store.acquireLease('due', 'somebody', 60_000)
    const repairs: string[] = []
    const options = { repair: true, onRepair: ({ outcome }: { outcome: string }) => repairs.push(outcome) }
    // The lease holder continues by itself, so a wake-up is not missed yet.
    expect(await examineStore(store, options)).toMatchObject({ faults: 0, repaired: 0 })
    await store.commit('due', { events: [], conversation: { status: 'ended' } })
    expect(await examineStore(store, options)).toMatchObject({ faults: 1, repaired: 0 })
    expect(repairs).toEqual(['held'])
    await store.releaseLease('due', lease!.epoch)
    expect(await examineStore(store, options)).toMatchObject({ faults: 0, repaired: 1 })
    expect(repairs).toEqual(['held', 'repaired'])
    expect(await store.dueWork({ agents: ['echo'], limit: 5 })).toEqual([{ tenant: 'default', id: 'due' }])
  })
})
