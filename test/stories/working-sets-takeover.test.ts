import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { gate } from './gate.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { shapeOf } from './texts.ts'
import { until } from './until.ts'
import { untilShown } from './until-shown.ts'

/** How soon the others notice that a process has died. */
const soon = { leaseMs: 150 }
const quick = { pollMs: 20 }

overStores('a process that dies', (story) => {
  test('in the middle of a message: another asks the model anew, and the turn ends once', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    const { store: mortal, kill } = mortalStore(store)
    const chat = story.start({ agents: [agent], store: mortal, ...soon }).conversation('c1', { agent: 'slow' })
    const { turnId } = await chat.send('hello')
    const call = await model.called(1)
    call.say('as I was')
    await untilShown(chat, 'as I was')
    kill()
    call.answer(' saying')
    const next = story.start({ agents: [agent], store: story.reopen(store), ...quick })
    await model.answer(2, 'hi')
    expect(await next.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed', text: 'hi' })
    expect(shapeOf(await store.streamEvents('c1'))).toEqual([
      'user_msg',
      'assistant_msg complete',
      'turn_ended completed',
    ])
  })

  test('right after a message was acknowledged: another answers it', async () => {
    const model = scriptedModel('hi')
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    const { store: mortal, kill } = mortalStore(store)
    const chat = story.start({ agents: [agent], store: mortal, work: false }).conversation('c1', { agent: 'slow' })
    const { turnId } = await chat.send('hello')
    kill()
    const next = story.start({ agents: [agent], store: story.reopen(store), ...quick })
    expect(await next.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed', text: 'hi' })
  })

  test('while tools run: those that may run again do, the others are unknown', async () => {
    const runs: string[] = []
    const isDone = gate()
    const tool = <Name extends string>(name: Name, ifInterrupted: 'report' | 'rerun') =>
      defineTool({
        name,
        description: name,
        input: z.object({}),
        ifInterrupted,
        run: () => {
          runs.push(name)
          return runs.length <= 2 ? isDone.opened : 'done'
        },
      })
    const model = scriptedModel(({ n }) =>
      n === 1 ? { calls: ['once', 'again'].map((name) => ({ tool: name, args: {} })) } : 'Done.',
    )
    const agent = defineAgent({ name: 'worker', model, tools: [tool('once', 'report'), tool('again', 'rerun')] })
    const store = story.openStore()
    const { store: mortal, kill } = mortalStore(store)
    const dying = story.start({ agents: [agent], store: mortal, ...soon })
    const { turnId } = await dying.conversation('c1', { agent: 'worker' }).send('go')
    await until(() => runs.length === 2)
    kill()
    const next = story.start({ agents: [agent], store: story.reopen(store), ...quick })
    expect(await next.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual(['once', 'again', 'again'])
    const events = await store.streamEvents('c1')
    checkHistory(events)
    const outcomes = events.flatMap((event) => (event.type === 'tool_result' ? [event.content.outcome ?? 'known'] : []))
    expect(outcomes.toSorted()).toEqual(['known', 'unknown'])
    isDone.open()
  })

  test('and only seemed to: it finds that another has taken over, and writes nothing more', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    const { store: sleepy, freeze } = mortalStore(store)
    freeze()
    const chat = story
      .start({ agents: [agent], store: sleepy, leaseMs: 50, pollMs: 60_000 })
      .conversation('c1', { agent: 'slow' })
    const turn = await chat.send('hello')
    const first = await model.called(1)
    first.say('from the first')
    await untilShown(chat, 'from the first')
    const seen: string[] = []
    const watching = (async () => {
      for await (const event of chat.watch()) {
        seen.push(event.type)
        if (event.type === 'turn_completed') return
      }
    })()
    story.start({ agents: [agent], store: story.reopen(store), ...quick })
    const second = await model.called(2)
    // What the first brings now is too late.
    first.answer(', too late')
    await until(() => seen.includes('message_discarded'))
    second.answer('from the second')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'from the second' })
    await watching
    expect((await chat.view()).drafts).toEqual([])
    expect(shapeOf(await store.streamEvents('c1'))).toEqual([
      'user_msg',
      'assistant_msg complete',
      'turn_ended completed',
    ])
  })

  test('with many conversations: two others share what is left, and each turn ends once', async () => {
    const model = scriptedModel(({ prompt }) => `answer to ${JSON.stringify(prompt.at(-1)?.content)}`)
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    const api = story.start({ agents: [agent], store, work: false })
    const turns = await Promise.all(
      Array.from({ length: 20 }, (_, n) => api.conversation(`c${n}`, { agent: 'slow' }).send(`message ${n}`)),
    )
    for (let n = 0; n < 2; n++) story.start({ agents: [agent], store: story.reopen(store), ...quick })
    for (const turn of turns) expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(model.calls).toHaveLength(20)
    for (let n = 0; n < 20; n++) checkHistory(await store.streamEvents(`c${n}`))
  })

  test('no more is worked on at once than is allowed, and nothing is forgotten', async () => {
    let running = 0
    let most = 0
    const model = scriptedModel(async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setTimeout(resolve, 5))
      running -= 1
      return 'fine'
    })
    const agent = defineAgent({ name: 'slow', model })
    const runtime = story.start({ agents: [agent], maxConcurrentTurns: 3 })
    const turns = await Promise.all(
      Array.from({ length: 12 }, (_, n) => runtime.conversation(`c${n}`, { agent: 'slow' }).send('hello')),
    )
    for (const turn of turns) expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(most).toBeLessThanOrEqual(3)
  })
})
