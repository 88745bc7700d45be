import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Hook, postHook, preHook, regenerate } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { inject } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { meddledStore } from './meddled-store.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { linesOf, shapeOf } from './texts.ts'

overStores('a durable hook', (story) => {
  /** A durable hook that counts its runs. */
  function memory(name = 'memory', text = 'she likes hats') {
    const runs: string[] = []
    const hook = preHook(
      name,
      (turn) => {
        runs.push(name)
        return text === '' ? undefined : inject(turn, text)
      },
      { durable: true },
    )
    return { hook, runs }
  }

  test('records its injection in the log, where every later prompt has it in its place', async () => {
    const { hook, runs } = memory()
    const model = scriptedModel(({ n }) => `answer ${n}`)
    const agent = defineAgent({ name: 'a', model, hooks: [hook] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const turn = await chat.send('hello')
    await turn.outcome()
    const events = await chat.events()
    expect(shapeOf(events)).toEqual(['user_msg', 'injection', 'assistant_msg complete', 'turn_ended completed'])
    expect(events[1]?.content).toEqual({
      turnId: turn.turnId,
      step: 0,
      hook: 'memory',
      parts: [{ type: 'text', text: 'she likes hats' }],
    })
    await (await chat.send('again')).outcome()
    expect(linesOf(model.calls[0]!.prompt)).toEqual(['user: hello', 'user: she likes hats'])
    expect(linesOf(model.calls[1]!.prompt)).toEqual([
      'user: hello',
      'user: she likes hats',
      'assistant: answer 1',
      'user: again',
      'user: she likes hats',
    ])
    expect(runs).toHaveLength(2)
  })

  for (const kind of ['by its address', 'by its bytes in the store'])
    test(`that adds a file ${kind} leaves it in the log, where every later prompt has it`, async () => {
      const store = story.openStore()
      const bytes = new Uint8Array([1, 2, 3])
      const address = 'https://example.com/plan.png'
      const data = kind === 'by its address' ? address : await store.putBlob(bytes, 'image/png')
      const file = { type: 'file', mediaType: 'image/png', data, filename: 'plan.png' } as const
      const hook = preHook('plan', (turn) => inject(turn, [file, { type: 'text', text: 'the plan' }]), {
        durable: true,
      })
      const model = scriptedModel(({ n }) => `answer ${n}`)
      const agent = defineAgent({ name: 'a', model, hooks: [hook] })
      const first = story.start({ agents: [agent], store })
      await (await first.conversation('c1', { agent: 'a' }).send('hello')).outcome()
      await first.close()
      const events = await store.streamEvents('c1')
      expect(events[1]?.content).toMatchObject({ hook: 'plan', parts: [file, { type: 'text', text: 'the plan' }] })

      const without = defineAgent({ name: 'a', model })
      const next = story.start({ agents: [without], store: story.reopen(store) })
      await (await next.conversation('c1').send('again')).outcome()
      const shown = { type: 'file', mediaType: 'image/png', filename: 'plan.png' }
      const sent = kind === 'by its address' ? { type: 'url', url: new URL(address) } : { type: 'data', data: bytes }
      for (const { prompt } of model.calls)
        expect(prompt[1]).toMatchObject({ role: 'user', content: [{ ...shown, data: sent }, { text: 'the plan' }] })
    })

  test('that has nothing to add says so in the log', async () => {
    const { hook, runs } = memory('memory', '')
    const agent = defineAgent({ name: 'a', model: scriptedModel('fine'), hooks: [hook] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    await (await chat.send('hello')).outcome()
    const injection = (await chat.events()).find((event) => event.type === 'injection')
    expect(injection?.content).toMatchObject({ hook: 'memory', parts: [] })
    expect(runs).toHaveLength(1)
  })

  for (const text of ['she likes hats', '']) {
    const what = text === '' ? 'nothing' : 'something'
    test(`that added ${what} is not run again for the same step after its process died`, async () => {
      const { hook, runs } = memory('memory', text)
      const seen: string[] = []
      const transient = preHook('transient', () => void seen.push('transient'))
      const model = pacedModel()
      const agent = defineAgent({ name: 'a', model, hooks: [hook, transient] })
      const store = story.openStore()
      const { store: mortal, kill } = mortalStore(store)
      const dying = story.start({ agents: [agent], store: mortal, leaseMs: 100 })
      const { turnId } = await dying.conversation('c1', { agent: 'a' }).send('hello')
      await model.called(1)
      kill()
      const next = story.start({ agents: [agent], store: story.reopen(store), pollMs: 10 })
      await model.answer(2, 'hi')
      expect(await next.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
      expect(runs).toHaveLength(1)
      expect(seen).toHaveLength(2)
      expect(linesOf(model.calls[1]!.prompt)).toEqual(linesOf(model.calls[0]!.prompt))
    })
  }

  test('is run again for the next step, and not for a message that is written anew', async () => {
    const { hook, runs } = memory()
    let verdicts = 0
    const fussy = postHook('fussy', (turn) => {
      if (turn.assistantMessage?.calls.length) return
      verdicts += 1
      return verdicts === 1 ? regenerate('shorter') : undefined
    })
    const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'a hat' })
    const model = scriptedModel([{ calls: [{ tool: 'look', args: {} }] }, 'A very long answer.', 'A hat.'])
    const agent = defineAgent({ name: 'a', model, tools: [look], hooks: [hook, fussy] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('hello')).outcome()).toMatchObject({ status: 'completed', text: 'A hat.' })
    const steps = (await chat.events()).flatMap((event) => (event.type === 'injection' ? [event.content.step] : []))
    expect(steps).toEqual([0, 1])
    expect(runs).toHaveLength(2)
  })

  test('that is parallel keeps what it adds too, each under its own name', async () => {
    const hooks: Hook[] = ['one', 'two'].map((name) =>
      preHook(name, () => `from ${name}`, { mode: 'parallel', durable: true }),
    )
    const model = scriptedModel('fine')
    const agent = defineAgent({ name: 'a', model, hooks })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    await (await chat.send('hello')).outcome()
    const names = (await chat.events()).flatMap((event) => (event.type === 'injection' ? [event.content.hook] : []))
    expect(names).toEqual(['one', 'two'])
    expect(linesOf(model.calls[0]!.prompt)).toEqual(['user: hello', 'user: from one', 'user: from two'])
  })

  test('meets others who write at the same time, and is still run once', async () => {
    const { hook, runs } = memory()
    const model = pacedModel()
    const agent = defineAgent({ name: 'a', model, hooks: [hook] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const turns = [await chat.send('one')]
    turns.push(...(await Promise.all(['two', 'three'].map((text) => chat.send(text, { whenBusy: 'queue' })))))
    for (let n = 1; n <= 3; n++) await model.answer(n, `answer ${n}`)
    for (const turn of turns) expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toHaveLength(3)
    expect(shapeOf(await chat.events()).filter((type) => type === 'injection')).toHaveLength(3)
  })

  test('adds nothing when its turn is cancelled just before it is recorded, and the model is not asked', async () => {
    const { hook, runs } = memory()
    const model = scriptedModel('never')
    const agent = defineAgent({ name: 'a', model, hooks: [hook] })
    const store = story.openStore()
    const api = story.start({ agents: [agent], store, work: false }).conversation('c1', { agent: 'a' })
    const turn = await api.send('one')
    const { turnId } = turn
    let isFirst = true
    const meddled = meddledStore(store, async () => {
      if (isFirst) await store.commit('c1', { events: [{ type: 'cancel_requested', content: { turnId, who: 'bob' } }] })
      isFirst = false
    })
    story.start({ agents: [agent], store: meddled })
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled' })
    expect(runs).toHaveLength(1)
    expect(model.calls).toEqual([])
    expect(shapeOf(await api.events())).toEqual(['user_msg', 'cancel_requested', 'turn_ended cancelled'])
  })
})
