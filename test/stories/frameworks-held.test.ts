import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineSubscriber } from '../../src/define/define-subscriber.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { type HeldRuntime, holdRuntime } from '../../src/runtime/hold-runtime.ts'
import type { InboxCall } from '../../src/runtime/read/lists.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { createHandler } from '../../src/server/create-handler.ts'
import type { Store } from '../../src/store/store.ts'
import { suspendCalls } from '../../src/testing/conformance/event-builders.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

const quick = { leaseMs: 60_000, pollMs: 20, logger: silentLogger }
const held: HeldRuntime[] = []

afterEach(async () => {
  for (const runtime of held.splice(0)) await runtime.close({ drainMs: 0 })
  setEnv('NODE_ENV', 'test')
  setEnv('NEXT_PHASE', undefined)
})

/** What a module with the runtime of an application does when it is loaded. The code that answers is of this version. */
function load(version: string, store: Store, options: { act?: () => Promise<void>; name?: string } = {}) {
  const act = defineTool({
    name: 'act',
    description: 'Act',
    input: z.object({}),
    approval: 'required',
    run: async () => options.act?.(),
  })
  const model = scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)
    if (last?.role === 'tool') return `Done by ${version}.`
    return JSON.stringify(last).includes('act') ? { calls: [{ tool: 'act', args: {} }] } : `Answered by ${version}.`
  })
  const agent = defineAgent({ name: 'worker', model, tools: [act] })
  const events: string[] = []
  const runtime = holdRuntime(
    ({ onClose }) => {
      events.push(`${version} is created`)
      onClose(() => void events.push(`${version} is closed`))
      return createRuntime({ ...quick, agents: [agent], store })
    },
    { name: options.name ?? 'story' },
  )
  held.push(runtime as unknown as HeldRuntime)
  return { runtime, events }
}

/** The agent as a process sees it that runs nothing. */
const apart = defineAgent({ name: 'worker', model: scriptedModel(() => '') })

overStores('the runtime of a framework', (story) => {
  test('is of the newest code after each of ten hot reloads', async () => {
    const store = story.openStore()
    for (let edit = 1; edit <= 10; edit++) {
      const { runtime } = load(`version ${edit}`, store)
      const turn = await (await runtime.get()).conversation('c1', { agent: 'worker' }).send('hello')
      expect(await turn.outcome()).toMatchObject({ text: `Answered by version ${edit}.` })
    }
  })

  test('closes the one before at each of ten hot reloads: one is alive at a time, and no lease is left', async () => {
    const store = story.openStore()
    const replaced: Runtime[] = []
    const alive: number[] = []
    const loads: { readonly events: readonly string[] }[] = []
    for (let edit = 1; edit <= 10; edit++) {
      const { runtime, events } = load(`version ${edit}`, store)
      loads.push({ events })
      const current = (await runtime.get()) as unknown as Runtime
      const counted = loads.flatMap((one) => one.events).map((event) => (event.endsWith('created') ? 1 : -1))
      alive.push(counted.reduce((sum: number, one) => sum + one, 0))
      // It holds a conversation with a call that waits, which the next one is to have at once.
      await (await current.conversation(`c${edit}`, { agent: 'worker' }).send('act')).outcome()
      replaced.push(current)
    }
    const newest = replaced.pop()!
    expect(alive).toEqual(Array.from({ length: 10 }, () => 1))
    expect(loads.map(({ events }) => events.length)).toEqual([...replaced.map(() => 2), 1])
    for (const [index, old] of replaced.entries()) {
      const sent = old.conversation(`c${index + 1}`).send('hello', { whenBusy: 'queue' })
      await expect(sent).rejects.toMatchObject({ code: 'runtime_closed' })
      expect(await old.readiness()).toMatchObject({ worker: 'closed' })
    }
    expect(await newest.readiness()).toMatchObject({ isReady: true, worker: 'ok' })
    // A minute of `leaseMs` has not passed: each was given back.
    for (let edit = 1; edit <= 9; edit++) {
      const claimed = await store.claimLease(`c${edit}`, 'somebody else', 1_000)
      expect(claimed).toMatchObject({ type: 'taken' })
    }
  })

  test('works only when the one before has let go of its leases', async () => {
    const store = story.openStore()
    const isRunning = gate()
    const isDone = gate()
    const first = load('version 1', store, {
      async act() {
        isRunning.open()
        await isDone.opened
      },
    })
    const before = await first.runtime.get()
    const conversation = before.conversation('c1', { agent: 'worker' })
    const { turnId } = await conversation.send('act')
    const [waiting] = await until(async () => (await before.inbox()).length > 0 && before.inbox())
    await before.resolve('c1', waiting as InboxCall, true)
    await isRunning.opened

    const second = load('version 2', store)
    const after = second.runtime.get()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(second.events).toEqual([])
    isDone.open()
    // The lease of the first would last for a minute: it was given back.
    expect(await (await after).conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    expect([first.events, second.events]).toEqual([
      ['version 1 is created', 'version 1 is closed'],
      ['version 2 is created'],
    ])
  })

  test('goes on with due work by itself after a hot reload, without a request', async () => {
    const store = story.openStore()
    const first = load('version 1', store)
    await first.runtime.start()
    load('version 2', store)
    const api = story.start({ agents: [apart], store, work: false })
    const turn = await api.conversation('c2', { agent: 'worker' }).send('hello')
    expect(await turn.outcome()).toMatchObject({ text: 'Answered by version 2.' })
  })

  test('ends no call whose deadline passes during a build, and tells no subscriber', async () => {
    setEnv('NEXT_PHASE', 'phase-production-build')
    const store = story.openStore()
    const told: string[] = []
    const run = ({ topic }: { readonly topic: string }): void => void told.push(topic)
    const subscribers = [defineSubscriber({ name: 'listener', on: ['waiting', 'resolution'], run })]
    const built = story.start({ agents: [apart], store, subscribers })
    await suspendCalls(store, 'c1', ['call'], { expiresInMs: 1 })
    const events = await store.streamEvents('c1')
    // Longer than a store takes to find a deadline.
    await new Promise((resolve) => setTimeout(resolve, 700))
    expect(await store.streamEvents('c1')).toEqual(events)
    expect(await built.inbox()).toMatchObject([{ callId: 'call', status: 'pending' }])
    expect([told, await built.subscribers()]).toEqual([[], []])
  })

  test('runs nothing during a build, can be read there, and runs what was due when it is started', async () => {
    const store = story.openStore()
    const runs: string[] = []
    const act = async (): Promise<void> => void runs.push('act')
    const plain = load('version 1', store, { act, name: 'plain' })
    const { turnId } = await (await plain.runtime.get()).conversation('c1', { agent: 'worker' }).send('act')
    const api = story.start({ agents: [apart], store, work: false })
    const [waiting] = await until(async () => (await api.inbox()).length > 0 && api.inbox())
    await plain.runtime.close()
    await api.resolve('c1', waiting as InboxCall, true)

    setEnv('NEXT_PHASE', 'phase-production-build')
    const built = load('version 1', store, { act })
    await built.runtime.start()
    expect(built.events).toEqual([])
    const reading = await built.runtime.get()
    expect(await reading.readiness()).toMatchObject({ isReady: true, worker: 'off' })
    expect((await reading.conversation('c1').view()).messages.length).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, 10 * quick.pollMs))
    expect(runs).toEqual([])
    await built.runtime.close()

    setEnv('NEXT_PHASE', 'phase-production-server')
    await built.runtime.start()
    expect(await (await built.runtime.get()).conversation('c1').turn(turnId).outcome()).toMatchObject({
      status: 'completed',
    })
    expect(runs).toEqual(['act'])
  })

  test('in production, the same code in another bundle uses the runtime that was started', async () => {
    setEnv('NODE_ENV', 'production')
    const store = story.openStore()
    const ofInstrumentation = load('one bundle', store, { name: `production ${story.name}` })
    await ofInstrumentation.runtime.start()
    const ofRoute = load('another bundle', store, { name: `production ${story.name}` })
    expect(await ofRoute.runtime.get()).toBe(await ofInstrumentation.runtime.get())
    expect([ofInstrumentation.events, ofRoute.events]).toEqual([['one bundle is created'], []])
  })

  test('is served by a handler that outlives hot reloads', async () => {
    const store = story.openStore()
    const { runtime } = load('version 1', store)
    const handler = createHandler(runtime, { authenticate: () => createScope({ user: 'ann' }) })
    expect(await answered(handler, 'one')).toBe('Answered by version 1.')
    load('version 2', store)
    expect(await answered(handler, 'two')).toBe('Answered by version 2.')
    handler.close()
    await handler.settled()
  })
})

async function answered(handler: (request: Request) => Promise<Response>, key: string): Promise<string> {
  const send = await handler(
    new Request('http://127.0.0.1/conversations/c1/messages', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'worker', message: 'hello', key }),
    }),
  )
  const { turnId } = (await send.json()) as { turnId: string }
  const outcome = await handler(new Request(`http://127.0.0.1/conversations/c1/turns/${turnId}/outcome?waitMs=20000`))
  return ((await outcome.json()) as { text: string }).text
}

function setEnv(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
