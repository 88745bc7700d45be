import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { isIdle, joined } from './joined.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf } from './pending-of.ts'
import { until } from './until.ts'
import { untilShown } from './until-shown.ts'

overStores('watching from another process', (story) => {
  test('sees the same log in the same order, and the same announcements', async () => {
    const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'a hat' })
    const model = scriptedModel([{ calls: [{ tool: 'look', args: {} }] }, 'A hat.'])
    const agent = defineAgent({ name: 'guide', model, tools: [look] })
    const store = story.openStore()
    const here = story.start({ agents: [agent], store }).conversation('c1', { agent: 'guide' })
    const there = story.start({ agents: [agent], store: story.reopen(store), work: false }).conversation('c1')
    const watchers = [await joined(here), await joined(there)]
    await here.send('what is it?')
    const views = await Promise.all(watchers.map((watcher) => watcher.until(isIdle)))
    expect(views[1]).toEqual(views[0])
    const [logHere, logThere] = watchers.map(({ events }) => events.filter((event) => 'content' in event))
    expect(logThere).toEqual(logHere)
    const announced = watchers.map(({ events }) =>
      events.flatMap((event) => (/^(turn|tool_call|message)_/.test(event.type) ? [event.type] : [])),
    )
    expect(announced[1]).toEqual(announced[0])
  })

  test('waits for an outcome, and gets it from whichever process commits it', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    const here = story.start({ agents: [agent], store }).conversation('c1', { agent: 'slow' })
    const there = story.start({ agents: [agent], store: story.reopen(store), work: false }).conversation('c1')
    const turn = await here.send('hello')
    const outcome = there.turn(turn.turnId).outcome()
    await model.answer(1, 'hi')
    expect(await outcome).toMatchObject({ status: 'completed', text: 'hi' })
  })

  test('answers what waits, and sees the turn go on', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'Ask',
      input: z.object({}),
      executor: 'human',
      output: z.string(),
    })
    const model = scriptedModel([{ calls: [{ tool: 'ask', args: {} }] }, 'Thanks.'])
    const agent = defineAgent({ name: 'asker', model, tools: [ask] })
    const store = story.openStore()
    const here = story.start({ agents: [agent], store }).conversation('c1', { agent: 'asker' })
    const there = story.start({ agents: [agent], store: story.reopen(store), work: false }).conversation('c1')
    const turn = await here.send('go')
    const watcher = await joined(there)
    const call = await onlyPendingOf(there.turn(turn.turnId))
    expect(await there.answer(call, 'blue')).toEqual({ accepted: true })
    expect(await watcher.until(isIdle)).toMatchObject({ messages: [{}, {}, { parts: [{ text: 'Thanks.' }] }] })
  })

  test('a message whose writer is lost is withdrawn where it was shown, and told anew', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    const { store: sleepy, freeze } = mortalStore(store)
    freeze()
    const here = story.start({ agents: [agent], store: sleepy, leaseMs: 60 }).conversation('c1', { agent: 'slow' })
    await here.send('hello')
    const first = await model.called(1)
    first.say('from the first')
    await untilShown(here, 'from the first')
    const watcher = await joined(here)
    const next = story.start({ agents: [agent], store: story.reopen(store), pollMs: 10 })
    const second = await model.called(2)
    first.finish()
    second.answer('from the second')
    const view = await watcher.until(isIdle)
    const discarded = watcher.events.findIndex((event) => event.type === 'message_discarded')
    const committed = watcher.events.findIndex((event) => event.type === 'assistant_msg')
    expect(discarded).toBeGreaterThan(0)
    expect(committed).toBeGreaterThan(0)
    expect(view).toEqual(await next.conversation('c1').view())
    expect(view.messages).toMatchObject([{ role: 'user' }, { parts: [{ text: 'from the second' }] }])
    await until(async () => (await here.view()).drafts.length === 0)
  })
})
