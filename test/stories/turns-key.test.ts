import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { createStore } from '../../src/store/create-store.ts'
import { memoryDriver } from '../../src/store/memory/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { shapeOf } from './texts.ts'
import { until } from './until.ts'

function echo() {
  const model = scriptedModel(({ n }) => `answer ${n}`)
  return { model, agent: defineAgent({ name: 'echo', model }) }
}

overStores('a message with a key', (story) => {
  test('sent twice, it is one turn with one answer', async () => {
    const { model, agent } = echo()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'echo' })
    const first = await chat.send('hello', { key: 'k1' })
    expect(await first.outcome()).toMatchObject({ status: 'completed', text: 'answer 1' })
    const second = await chat.send('hello', { key: 'k1' })
    expect(second.turnId).toBe(first.turnId)
    expect(await second.outcome()).toMatchObject({ status: 'completed', text: 'answer 1' })
    expect(model.calls).toHaveLength(1)
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
  })

  test('sent from two runtimes at once, it is one turn', async () => {
    const { model, agent } = echo()
    const store = story.openStore()
    const runtimes = [
      story.start({ agents: [agent], store }),
      story.start({ agents: [agent], store: story.reopen(store) }),
    ]
    const chats = runtimes.map((runtime) => runtime.conversation('c1', { agent: 'echo' }))
    const turns = await Promise.all([...chats, ...chats].map((chat) => chat.send('hello', { key: 'k1' })))
    expect(new Set(turns.map((turn) => turn.turnId)).size).toBe(1)
    for (const turn of turns) expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'answer 1' })
    expect(model.calls).toHaveLength(1)
    expect((await chats[0]!.events()).filter((event) => event.type === 'user_msg')).toHaveLength(1)
  })

  test('is refused for another message, also while the first is being answered', async () => {
    const model = pacedModel()
    const chat = story.start({ agents: [defineAgent({ name: 'slow', model })] }).conversation('c1', { agent: 'slow' })
    const turn = await chat.send('hello', { key: 'k1' })
    const call = await model.called(1)
    const reused = { code: 'key_reused', turnId: turn.turnId }
    for (const whenBusy of ['reject', 'queue', 'steer', 'interrupt'] as const) {
      await expect(chat.send('goodbye', { key: 'k1', whenBusy })).rejects.toMatchObject(reused)
    }
    call.say('hi')
    call.finish()
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'hi' })
    await expect(chat.send('goodbye', { key: 'k1' })).rejects.toMatchObject(reused)
    await expect(chat.send('hello', { key: 'k1', maxSteps: 3 })).rejects.toMatchObject(reused)
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
  })

  test('sent again while it is being answered, it is the same turn, for every whenBusy', async () => {
    const model = pacedModel()
    const chat = story.start({ agents: [defineAgent({ name: 'slow', model })] }).conversation('c1', { agent: 'slow' })
    const turn = await chat.send('hello', { key: 'k1' })
    const call = await model.called(1)
    for (const whenBusy of ['reject', 'queue', 'steer', 'interrupt'] as const) {
      expect((await chat.send('hello', { key: 'k1', whenBusy })).turnId).toBe(turn.turnId)
    }
    call.say('hi')
    call.finish()
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'hi' })
    expect(model.calls).toHaveLength(1)
  })

  test('that steered a turn belongs to that turn ever after', async () => {
    const model = pacedModel()
    const chat = story.start({ agents: [defineAgent({ name: 'slow', model })] }).conversation('c1', { agent: 'slow' })
    const turn = await chat.send('hello')
    const first = await model.called(1)
    const steering = await chat.send('in German', { key: 'k2', whenBusy: 'steer' })
    expect(steering.turnId).toBe(turn.turnId)
    first.say('hi')
    first.finish()
    const second = await model.called(2)
    second.say('hallo')
    second.finish()
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'hallo' })
    expect((await chat.send('in German', { key: 'k2' })).turnId).toBe(turn.turnId)
    await expect(chat.send('in French', { key: 'k2' })).rejects.toMatchObject({
      code: 'key_reused',
      turnId: turn.turnId,
    })
    expect(model.calls).toHaveLength(2)
  })

  test('names its turn to a message and to a retry that it does not fit, also after the turn was replaced', async () => {
    const { agent } = echo()
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'echo' })
    const first = await chat.send('hello', { key: 'k1' })
    await first.outcome()
    const reused = { code: 'key_reused', turnId: first.turnId }
    await expect(chat.retry(undefined, { key: 'k1' })).rejects.toMatchObject(reused)
    const second = await chat.retry(first.turnId, { key: 'k2' })
    await second.outcome()
    await expect(chat.send('goodbye', { key: 'k1' })).rejects.toMatchObject(reused)
    await expect(chat.retry(undefined, { key: 'k1' })).rejects.toMatchObject(reused)
    await expect(chat.retry(undefined, { key: 'k2' })).rejects.toMatchObject({ ...reused, turnId: second.turnId })
  })

  test('means something else in another conversation', async () => {
    const { model, agent } = echo()
    const runtime = story.start({ agents: [agent] })
    for (const id of ['c1', 'c2']) {
      const turn = await runtime.conversation(id, { agent: 'echo' }).send(`hello ${id}`, { key: 'k1' })
      expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    }
    expect(model.calls).toHaveLength(2)
  })
})

/** Two stores over the same data. The first is told of the first commit that appended a message only when `hear` is called. */
function lateAnswer(clock: Clock = systemClock) {
  const driver = memoryDriver(clock)
  const heard = Promise.withResolvers<void>()
  let sends = 0
  const late = createStore(
    {
      ...driver,
      async commit(...change) {
        const isFirst = change[2].key !== null && change[2].events.length > 0 && ++sends === 1
        const outcome = await driver.commit(...change)
        if (isFirst) await heard.promise
        return outcome
      },
      // What lapses is taken by the other one.
      claimDue: async () => [],
    },
    {},
    clock,
  )
  return { late, prompt: createStore(driver, {}, clock), hear: () => heard.resolve() }
}

test('a message that was sent twice at once is not answered again by the one that hears of its commit last', async () => {
  const { model, agent } = echo()
  const { late: store, hear } = lateAnswer()
  const runtime = createRuntime({ agents: [agent], store })
  const chat = runtime.conversation('c1', { agent: 'echo' })
  const first = chat.send('hello', { key: 'k1' })
  const second = await chat.send('hello', { key: 'k1' })
  expect(await second.outcome()).toMatchObject({ status: 'completed', text: 'answer 1' })
  // The lease that came with the message is given back by now.
  await new Promise((resolve) => setImmediate(resolve))
  hear()
  expect(await (await first).outcome()).toMatchObject({ text: 'answer 1' })
  await chat.send('and now').then((turn) => turn.outcome())
  expect(model.calls).toHaveLength(2)
  await runtime.close()
  await store.close()
})

test('nor is one with a file, whose second send claims the conversation anew', async () => {
  const { model, agent } = echo()
  const { late: store, hear } = lateAnswer()
  const runtime = createRuntime({ agents: [agent], store, logger: silentLogger })
  const chat = runtime.conversation('c1', { agent: 'echo' })
  const message = [
    { type: 'text', text: 'what is this' },
    { type: 'file', data: new Uint8Array([1, 2, 3]), mediaType: 'image/png' },
  ] as const
  const first = chat.send(message, { key: 'k1' })
  await until(async () => (await chat.events()).length > 0)
  const second = await chat.send(message, { key: 'k1' })
  expect(await second.outcome()).toMatchObject({ status: 'completed', text: 'answer 1' })
  await new Promise((resolve) => setImmediate(resolve))
  hear()
  expect(await (await first).outcome()).toMatchObject({ text: 'answer 1' })
  await chat.send('and now').then((turn) => turn.outcome())
  expect(model.calls).toHaveLength(2)
  await runtime.close()
  await store.close()
})

test('a message whose commit is heard of after its lease is over is not answered by two processes', async () => {
  const { model, agent } = echo()
  const clock = fakeClock()
  const { late, prompt, hear } = lateAnswer(clock)
  const options = { agents: [agent], clock, logger: silentLogger, leaseMs: 1_000, pollMs: 100 }
  const slow = createRuntime({ ...options, store: late })
  const first = slow.conversation('c1', { agent: 'echo' }).send('hello', { key: 'k1' })
  const quick = createRuntime({ ...options, store: prompt })
  const chat = quick.conversation('c1', { agent: 'echo' })
  await until(async () => (await chat.events()).length > 0)
  await until(async () => {
    await clock.advance(100)
    return (await chat.events()).at(-1)?.type === 'turn_ended'
  })
  hear()
  expect(await (await first).outcome()).toMatchObject({ text: 'answer 1' })
  expect(model.calls).toHaveLength(1)
  await quick.close()
  await slow.close()
  await late.close()
})
