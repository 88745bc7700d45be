import { expect, test, vi } from 'vitest'
import { packageVersion } from '../../src/base/errors/perdure-error.ts'
import { StoreError } from '../../src/base/errors/store-errors.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { createStore } from '../../src/store/create-store.ts'
import { memoryDriver, memoryStore } from '../../src/store/memory/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

const greeter = () => defineAgent({ name: 'greeter', model: scriptedModel('hello') })
const counting = () => defineFlow({ name: 'counting', version: '1', run: async () => 1 })

overStores('nodes', ({ start, reopen, openStore }) => {
  test('every runtime of a store is listed, also one that runs nothing, until it closes', async () => {
    const store = openStore()
    const worker = start({ agents: [greeter()], flows: [counting()], store, maxConcurrentTurns: 7 })
    const clock = fakeClock()
    const api = start({ agents: [greeter()], store: reopen(store), work: false, clock })
    const [first] = await until(async () => ((await api.nodes()).length === 1 ? api.nodes() : null))
    expect(first).toMatchObject({ version: packageVersion, works: true, capacity: 7, held: 0, isSilent: false })
    expect(first).toMatchObject({ agents: ['greeter', 'flow:counting'], agentCount: 2, drain: null })
    await clock.advance(1_000)
    await until(async () => (await worker.nodes()).length === 2)
    expect((await worker.nodes()).map(({ works }) => works)).toEqual([true, false])
    await worker.close()
    expect((await api.nodes()).map(({ works }) => works)).toEqual([false])
    await api.close()
    expect(await store.nodes!.list()).toEqual([])
  })

  test('a node is listed with the conversations it works on now', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = defineAgent({
      name: 'slow',
      model: scriptedModel(async () => {
        await gate.promise
        return 'done'
      }),
    })
    const runtime = start({ agents: [slow] })
    const turns = [await runtime.conversation('a', { agent: 'slow' }).send('go')]
    turns.push(await runtime.conversation('b', { agent: 'slow' }).send('go'))
    await until(async () => (await runtime.nodes())[0]?.held === 2)
    gate.resolve()
    for (const turn of turns) await turn.outcome()
    await until(async () => (await runtime.nodes())[0]?.held === 0)
  })
})

overStores('a node that drains', ({ start, reopen, openStore }) => {
  test('takes no more work, hands over what it holds in time, and works again when it is told to', async () => {
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const slow = (name: string) =>
      defineAgent({
        name: 'slow',
        model: scriptedModel(async ({ n }) => {
          if (name === 'second' || n > 1) return `of the ${name}`
          begun.resolve()
          await gate.promise
          return 'never heard'
        }),
      })
    const store = openStore()
    const first = start({ agents: [slow('first')], store, leaseMs: 3_000, pollMs: 20 })
    const chat = first.conversation('a', { agent: 'slow' })
    const turn = await chat.send('go')
    await begun.promise
    // Before its first beat it is known by its lease alone.
    const holder = await until(async () => (await first.nodes()).find(({ seenAt }) => seenAt !== null)?.holder)
    expect(await first.drain(holder, { who: 'ops/ada', reason: 'a new kernel', drainMs: 50 })).toBe(true)
    expect((await first.nodes())[0]!.drain).toMatchObject({ who: 'ops/ada', reason: 'a new kernel' })
    await until(async () => (await first.nodes())[0]!.held === 0)
    const left = await first.conversation('b', { agent: 'slow' }).send('who takes it?')
    const second = start({ agents: [slow('second')], store: reopen(store), pollMs: 20 })
    expect(await turn.outcome()).toMatchObject({ text: 'of the second' })
    expect(await left.outcome()).toMatchObject({ text: 'of the second' })
    await second.close()
    expect(await first.undrain(holder)).toBe(true)
    const back = await first.conversation('c', { agent: 'slow' }).send('and now?')
    expect(await back.outcome()).toMatchObject({ text: 'of the first' })
    gate.resolve()
  })

  test('work lists what is due, held and quarantined, the oldest first, by pages', async () => {
    const store = openStore()
    const api = start({ agents: [greeter()], store, work: false })
    for (const id of ['a', 'b', 'c']) await api.conversation(id, { agent: 'greeter' }).send('hi')
    const due = await api.work()
    expect(due.map(({ id, state, lease, pause }) => [id, state, lease, pause])).toEqual(
      ['a', 'b', 'c'].map((id) => [id, 'due', null, null]),
    )
    const next = await api.work({ limit: 2, after: due[0]!, agent: 'greeter' })
    expect(next.map(({ id }) => id)).toEqual(['b', 'c'])
    expect(await api.work({ agent: 'other' })).toEqual([])
    await store.acquireLease('a', 'a node', 60_000)
    expect((await api.work({ state: 'held' })).map(({ id, lease }) => [id, lease?.holder])).toEqual([['a', 'a node']])
    expect(await api.inspect('a').work()).toMatchObject({ state: 'held', paused: null })
    await api.pause({ conversation: 'b' }, { who: 'ada' })
    expect((await api.work()).map(({ id, pause }) => [id, pause?.who])).toEqual([
      ['b', 'ada'],
      ['c', undefined],
    ])
    expect(await api.work({ state: 'quarantined' })).toEqual([])
    expect(await api.inspect('none').work()).toBe(null)
  })
})

/** A runtime by a clock that the test moves, with the beats it makes. */
async function beating(options: { readonly work?: boolean; readonly leaseMs?: number } = {}) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const beat = vi.spyOn(store.nodes!, 'beat')
  const told: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => void told.push(message) }
  const runtime = createRuntime({ agents: [greeter()], store, clock, logger, ...options }) as unknown as Runtime
  await clock.advance(0)
  return { clock, store, beat, runtime, told }
}

test('a node costs one small statement for each interval between renewals, and at most one a second', async () => {
  const usual = await beating()
  await usual.clock.advance(33_330)
  expect(usual.beat).toHaveBeenCalledTimes(11)
  await usual.runtime.close()
  const short = await beating({ leaseMs: 300 })
  await short.clock.advance(10_000)
  expect(short.beat).toHaveBeenCalledTimes(11)
  await short.runtime.close()
})

test('a runtime that ends within a second and runs nothing is never registered', async () => {
  const { clock, store, beat, runtime } = await beating({ work: false })
  const leave = vi.spyOn(store.nodes!, 'leave')
  await clock.advance(999)
  await runtime.close()
  expect([beat.mock.calls.length, leave.mock.calls.length]).toEqual([0, 0])
})

test('a store that fails is told again with the next beat, and closing does not wait for it', async () => {
  const { clock, store, beat, runtime, told } = await beating()
  beat.mockRejectedValueOnce(new StoreError('the store is away'))
  await clock.advance(3_333)
  expect(told).toContain('announcing this node to the store failed; trying again')
  await clock.advance(3_333)
  expect(await runtime.nodes()).toHaveLength(1)
  beat.mockRejectedValueOnce(new StoreError('the store is away'))
  const leave = vi.spyOn(store.nodes!, 'leave')
  await clock.advance(3_333)
  await runtime.close()
  expect(leave).not.toHaveBeenCalled()
})

test('closing does not wait for a store that never answers', async () => {
  const { clock, store, runtime } = await beating()
  vi.spyOn(store.nodes!, 'leave').mockReturnValue(new Promise(() => {}))
  const closed = runtime.close({ drainMs: 0 })
  await clock.advance(5_000)
  await closed
})

test('a store without a registry works, and says so when it is asked', async () => {
  const { nodes: _, ...driver } = memoryDriver()
  const runtime = createRuntime({ agents: [greeter()], store: createStore(driver), logger: silentLogger })
  const turn = await runtime.conversation('a', { agent: 'greeter' }).send('hi')
  expect((await turn.outcome()).status).toBe('completed')
  await expect(runtime.nodes()).rejects.toMatchObject({ code: 'steering_unsupported' })
  await runtime.close()
})

test('a build registers nothing', async () => {
  vi.stubEnv('NEXT_PHASE', 'phase-production-build')
  const { clock, beat, runtime } = await beating()
  vi.unstubAllEnvs()
  await clock.advance(10_000)
  expect(beat).not.toHaveBeenCalled()
  await runtime.close()
})
