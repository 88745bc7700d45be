import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { halt, postHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineSubscriber } from '../../src/define/define-subscriber.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Outbox } from '../../src/store/outbox.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { childTool } from './child-agents.ts'
import { flakyStore } from './flaky-store.ts'
import { overStores } from './over-stores.ts'
import { desk, listener, refund } from './subscriber-desk.ts'
import { until } from './until.ts'

overStores('subscribers', ({ start, openStore, reopen }) => {
  test('are told that a call waits, and that a turn has ended, in the order of the log', async () => {
    const { subscriber, told } = listener(['waiting', 'turn_ended'])
    const agent = desk([{ calls: [{ tool: 'refund', args: { cents: 4900 } }] }, 'done'])
    const runtime = start({ agents: [agent], subscribers: [subscriber] })
    const chat = runtime.conversation('chat', { agent: 'desk' })
    const outcome = await (await chat.send('my money, please')).outcome()
    await until(() => told.length === 1)
    const [waiting] = told
    expect(waiting).toMatchObject({ topic: 'waiting', tenant: 'default', conversationId: 'chat', agent: 'desk' })
    expect(waiting!.call).toMatchObject({
      tool: 'refund',
      args: { cents: 4900 },
      kind: 'approval',
      round: 1,
      isOpen: true,
      description: 'Pay 4900 cents back',
    })
    expect(waiting!.call!.callId).toBe(outcome.status === 'waiting' && outcome.pending[0]!.callId)
    await runtime.resolve('chat', { callId: waiting!.call!.callId }, true)
    await until(() => told.length === 2)
    expect(told[1]).toMatchObject({
      topic: 'turn_ended',
      event: { type: 'turn_ended', content: { status: 'completed' } },
    })
    expect(told[1]!.seq).toBeGreaterThan(told[0]!.seq)
    expect(new Set(told.map(({ id }) => id)).size).toBe(2)
  })

  test('get what they cannot change', async () => {
    const { subscriber, told } = listener(['assistant_msg'])
    const runtime = start({ agents: [desk()], subscribers: [subscriber] })
    await (await runtime.conversation('chat', { agent: 'desk' }).send('hi')).outcome()
    await until(() => told.length === 1)
    const { event } = told[0]!
    expect(() => Object.assign(event.content, { parts: [] })).toThrow(TypeError)
    expect(() => (event.type === 'assistant_msg' ? (event.content.parts as object[]).push({}) : null)).toThrow(
      TypeError,
    )
  })

  test('get no words of a message that no hook has passed', async () => {
    const { subscriber, told } = listener(['assistant_msg'])
    const guard = postHook('guard', () => halt('not that'))
    const agent = defineAgent({ name: 'guarded', model: scriptedModel(['a secret']), hooks: [guard] })
    const runtime = start({ agents: [agent], subscribers: [subscriber] })
    await (await runtime.conversation('chat', { agent: 'guarded' }).send('hi')).outcome()
    await until(() => told.length === 1)
    expect(told[0]!.event).toMatchObject({ type: 'assistant_msg', content: { parts: [] } })
    expect(JSON.stringify(told)).not.toContain('secret')
  })

  test('are told of other conversations while twenty hang, which is more than run side by side', async () => {
    const release = Promise.withResolvers<void>()
    const told: string[] = []
    const hanging = defineSubscriber({
      name: 'hanging',
      on: ['turn_ended'],
      timeoutMs: 600_000,
      async run({ conversationId }) {
        if (conversationId !== 'free') await release.promise
        told.push(conversationId)
      },
    })
    const runtime = start({ agents: [desk()], subscribers: [hanging] })
    const ids = Array.from({ length: 20 }, (_, n) => `hangs-${n}`)
    for (const id of [...ids, 'free']) await (await runtime.conversation(id, { agent: 'desk' }).send('Hi')).outcome()
    await until(() => told.length > 0)
    expect(told).toEqual(['free'])
    release.resolve()
    await until(() => told.length === 21)
    expect(told.toSorted()).toEqual([...ids, 'free'].toSorted())
  })

  test('are told at least once and in order when they fail, and a stuck conversation holds up only itself', async () => {
    const { subscriber, told, attempts } = listener(['user_msg'], {
      fails: ({ conversationId }, attempt) => conversationId === 'stuck' && attempt < 4,
    })
    const runtime = start({ agents: [desk()], subscribers: [subscriber] })
    for (const text of ['one', 'two']) {
      await (await runtime.conversation('stuck', { agent: 'desk' }).send(text)).outcome()
      await (await runtime.conversation('free', { agent: 'desk' }).send(text)).outcome()
    }
    await until(() => told.length === 4)
    const of = (id: string) => told.filter(({ conversationId }) => conversationId === id).map(({ seq }) => seq)
    expect([of('stuck'), of('free')]).toEqual([
      [1, 4],
      [1, 4],
    ])
    expect(attempts.filter((text) => text.startsWith('stuck'))).toEqual([
      ...[1, 2, 3, 4].map((attempt) => `stuck 1 ${attempt}`),
      ...[1, 2, 3, 4].map((attempt) => `stuck 4 ${attempt}`),
    ])
  })

  test('have what failed listed after the last attempt, the next follows, and a person has it tried again', async () => {
    let isAway = true
    const { subscriber, told } = listener(['user_msg'], {
      retry: { maxAttempts: 2, baseMs: 2, maxMs: 5 },
      fails: ({ seq }) => isAway && seq === 1,
    })
    const runtime = start({ agents: [desk()], subscribers: [subscriber], logger: silentLogger })
    const chat = runtime.conversation('chat', { agent: 'desk' })
    await (await chat.send('one')).outcome()
    await (await chat.send('two')).outcome()
    await until(() => told.length === 1)
    expect(told[0]!.seq).toBe(4)
    const [failed] = await runtime.failedDeliveries()
    expect(failed).toMatchObject({ subscriber: 'listener', conversationId: 'chat', seq: 1, tries: 2 })
    expect(failed!.error).toContain('the receiver is away')
    expect(await runtime.subscribers()).toMatchObject([{ name: 'listener', failed: 1, stoppedAt: null }])
    isAway = false
    expect(await runtime.retryDeliveries([failed!.id])).toBe(1)
    await until(() => told.length === 2)
    expect(await runtime.failedDeliveries()).toEqual([])
  })

  test('that throw what has no text are tried again, and have it listed', async () => {
    const run = () => Promise.reject(Object.create(null))
    const retry = { maxAttempts: 2, baseMs: 1, maxMs: 1 }
    const subscriber = defineSubscriber({ name: 'listener', on: ['user_msg'], retry, run })
    const runtime = start({ agents: [desk()], subscribers: [subscriber], logger: silentLogger })
    await runtime.conversation('chat', { agent: 'desk' }).send('one')
    await until(async () => (await runtime.failedDeliveries()).length > 0)
    expect(await runtime.failedDeliveries()).toMatchObject([{ tries: 2, error: 'it threw {}' }])
  })

  test('have no secrets in what is listed of a failure', async () => {
    const subscriber = defineSubscriber({
      name: 'listener',
      on: ['turn_ended'],
      retry: { maxAttempts: 1 },
      run: () => {
        throw new Error('postgres://app:hunter2@db.internal/crm refused the connection')
      },
    })
    const runtime = start({ agents: [desk()], subscribers: [subscriber] })
    await (await runtime.conversation('a', { agent: 'desk' }).send('hi')).outcome()
    const [failed] = await until(async () => {
      const found = await runtime.failedDeliveries()
      return found.length > 0 ? found : null
    })
    expect(failed!.error).toContain('refused the connection')
    expect(JSON.stringify(failed)).not.toContain('hunter2')
  })

  test('have an attempt left when the log could not be read', async () => {
    const { subscriber, told } = listener(['turn_ended'], { retry: { maxAttempts: 1 } })
    const store = openStore()
    const first = start({ agents: [desk()], store, work: false, subscribers: [subscriber] })
    const worker = start({ agents: [desk()], store: reopen(store) })
    await (await first.conversation('a', { agent: 'desk' }).send('hi')).outcome()
    await worker.close()
    const away = flakyStore(reopen(store), { method: 'streamEvents', times: 1 })
    const other = start({ agents: [desk()], store: away.store, subscribers: [subscriber] })
    await until(async () => told.length > 0)
    expect(away.failures()).toBe(1)
    expect(await other.failedDeliveries()).toEqual([])
  })

  test('that are new begin now, and known ones get what was committed while no node had them', async () => {
    const store = openStore()
    const before = start({ agents: [desk()], store })
    await (await before.conversation('chat', { agent: 'desk' }).send('before')).outcome()
    const first = listener(['user_msg'])
    const node = start({ agents: [desk()], store, subscribers: [first.subscriber] })
    await (await node.conversation('chat', { agent: 'desk' }).send('one')).outcome()
    await until(() => first.told.length === 1)
    expect(first.told[0]!.seq).toBe(4)
    await node.close()
    // By a node without subscribers.
    await (await before.conversation('chat', { agent: 'desk' }).send('two')).outcome()
    await before.close()
    const second = listener(['user_msg'])
    start({ agents: [desk()], store: reopen(store), subscribers: [second.subscriber] })
    await until(() => second.told.length === 1)
    expect(second.told[0]!.seq).toBe(7)
  })

  test('on two nodes are told once each, when no node dies', async () => {
    const store = openStore()
    const one = listener(['user_msg'])
    const other = listener(['user_msg'])
    const node = start({ agents: [desk()], store, subscribers: [one.subscriber] })
    start({ agents: [desk()], store: reopen(store), subscribers: [other.subscriber] })
    const sends = Array.from({ length: 12 }, async (_, index) => {
      const turn = await node.conversation(`chat ${index}`, { agent: 'desk' }).send('hi')
      await turn.outcome()
    })
    await Promise.all(sends)
    await until(() => one.told.length + other.told.length === 12)
    const ids = [...one.told, ...other.told].map(({ conversationId }) => conversationId)
    expect(new Set(ids).size).toBe(12)
  })

  test('are told of what waits in a session, and not of its steps', async () => {
    const { subscriber, told } = listener(['waiting'])
    const flow = defineFlow({
      name: 'ask',
      version: 1,
      run: async (flow) => {
        await flow.step('prepare', async () => 1)
        return flow.suspend('pick one')
      },
    })
    const runtime = start({ agents: [desk()], flows: [flow], subscribers: [subscriber] })
    const session = runtime.flow(flow, 'session-1')
    await session.start({})
    await until(() => told.length > 0)
    expect(told).toHaveLength(1)
    expect(told[0]).toMatchObject({ topic: 'waiting', call: { kind: 'flow', args: 'pick one', isOpen: true } })
    await runtime.resolve('session-1', { callId: told[0]!.call!.callId }, 'this')
    expect(await session.outcome()).toMatchObject({ status: 'done' })
  })

  test('are not told of a call that waits for a child agent, but of what the child waits for', async () => {
    const { subscriber, told } = listener(['waiting'])
    const child = defineAgent({
      name: 'child',
      model: scriptedModel([{ calls: [{ tool: 'refund', args: { cents: 1 } }] }, 'done']),
      tools: [refund],
    })
    const parent = defineAgent({
      name: 'parent',
      model: scriptedModel([{ calls: [{ tool: 'delegate', args: { task: 'go' } }] }, 'done']),
      tools: [childTool('delegate', child)],
    })
    const runtime = start({ agents: [parent], subscribers: [subscriber] })
    await (await runtime.conversation('chat', { agent: 'parent' }).send('go')).outcome()
    await until(() => told.length > 0)
    expect(told).toMatchObject([{ agent: 'child', call: { tool: 'refund', kind: 'approval' } }])
  })

  test('that do not end in time are stopped, and the attempt has failed', async () => {
    const signals: AbortSignal[] = []
    const slow = defineSubscriber({
      ...{ name: 'slow', on: ['user_msg'], timeoutMs: 20, retry: { maxAttempts: 1 } },
      run: (_, { signal }) => {
        signals.push(signal)
        return new Promise(() => {})
      },
    })
    const runtime = start({ agents: [desk()], subscribers: [slow], logger: silentLogger })
    await (await runtime.conversation('chat', { agent: 'desk' }).send('hi')).outcome()
    await until(async () => (await runtime.failedDeliveries()).length === 1)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect((await runtime.failedDeliveries())[0]!.error).toContain('timed out after 20 ms')
  })

  test('forget a conversation that is deleted, with what failed of it', async () => {
    const { subscriber } = listener(['user_msg'], { retry: { maxAttempts: 1 }, fails: () => true })
    const runtime = start({ agents: [desk()], subscribers: [subscriber], logger: silentLogger })
    const chat = runtime.conversation('chat', { agent: 'desk' })
    await (await chat.send('hi')).outcome()
    await until(async () => (await runtime.failedDeliveries()).length === 1)
    await chat.delete()
    expect(await runtime.failedDeliveries()).toEqual([])
  })

  test('are told by a node that looked before, when the claim of one that died has lapsed', async () => {
    const store = openStore()
    await store.outbox!.register([{ name: 'listener', types: ['user_msg'], agent: null }])
    const api = start({ agents: [desk()], store, work: false })
    await api.conversation('chat', { agent: 'desk' }).send('hi')
    const claim = { subscribers: ['listener'], limit: 1, leaseMs: 600, lapsed: false }
    expect(await store.outbox!.claim(claim)).toHaveLength(1)
    const { subscriber, attempts } = listener(['user_msg'])
    // Its first look finds nothing that has lapsed.
    start({ agents: [desk()], store, subscribers: [subscriber], pollMs: 20 })
    await until(() => attempts.length === 1)
    expect(attempts).toEqual(['chat 1 2'])
  })

  test('begin anew with a failed one that is retried while a later one waits for its next try', async () => {
    const store = openStore()
    const { outbox } = store
    await outbox!.register([{ name: 'listener', types: ['titled'], agent: null }])
    await store.putConversation('chat', { agent: 'desk' })
    for (const title of ['one', 'two']) await store.appendEvent('chat', { type: 'titled', content: { title } })
    const claim = async () => {
      const [delivery] = await outbox!.claim({ subscribers: ['listener'], limit: 1, leaseMs: 60_000, lapsed: false })
      return delivery
    }
    await outbox!.settle((await claim())!, { type: 'failed', error: 'gone' })
    await outbox!.settle((await claim())!, { type: 'again', inMs: 60_000, tries: 3 })
    expect(await claim()).toBeUndefined()
    const [failed] = await outbox!.failed({ limit: 10 })
    expect(await outbox!.endFailed([failed!.id], 'retry')).toBe(1)
    expect(await claim()).toMatchObject({ seq: failed!.seq, tries: 0 })
  })

  test('are put back by a node that closes, and the attempt does not count', async () => {
    const store = openStore()
    const begun: number[] = []
    const hanging = defineSubscriber({
      ...{ name: 'listener', on: ['user_msg'] },
      run: (_, { signal, attempt }) => {
        begun.push(attempt)
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    })
    const node = start({ agents: [desk()], store, subscribers: [hanging] })
    await (await node.conversation('chat', { agent: 'desk' }).send('hi')).outcome()
    await until(() => begun.length === 1)
    await node.close({ drainMs: 0 })
    const { subscriber, attempts } = listener(['user_msg'])
    start({ agents: [desk()], store: reopen(store), subscribers: [subscriber] })
    await until(() => attempts.length === 1)
    expect(attempts).toEqual(['chat 1 1'])
  })
})

test('a delivery that a closing node is still claiming is put back before it has closed', async () => {
  const store = memoryStore({ logger: silentLogger })
  const { claim } = store.outbox!
  const answered = Promise.withResolvers<void>()
  let claimed = 0
  const late: Outbox = {
    ...store.outbox!,
    async claim(request) {
      const deliveries = await claim(request)
      claimed += deliveries.length
      if (deliveries.length > 0) await answered.promise
      return deliveries
    },
  }
  const { subscriber, attempts } = listener(['user_msg'])
  const node = createRuntime({
    agents: [desk()],
    store: { ...store, outbox: late },
    logger: silentLogger,
    subscribers: [subscriber],
  })
  await (await node.conversation('chat', { agent: 'desk' }).send('hi')).outcome()
  await until(() => claimed === 1)
  const closed = node.close({ drainMs: 0 })
  await new Promise((resolve) => setTimeout(resolve, 20))
  answered.resolve()
  await closed
  const again = await claim({ subscribers: ['listener'], limit: 10, leaseMs: 1_000, lapsed: false })
  expect(again).toMatchObject([{ conversationId: 'chat', seq: 1, tries: 0 }])
  expect(attempts).toEqual([])
  await store.close()
})
