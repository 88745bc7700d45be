import { expect, test } from 'vitest'
import type { Logger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { shapeOf } from './texts.ts'
import { until } from './until.ts'

overStores('the title of a conversation', (story) => {
  test('is generated once, in the background, after the first turn that went well', async () => {
    const isAsked = gate()
    const titles = scriptedModel(async () => {
      await isAsked.opened
      return '  "A hat\nfor Rome"  '
    })
    const agent = defineAgent({ name: 'chat', model: scriptedModel('fine'), title: { model: titles } })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'chat' })
    expect(await (await chat.send('I need a hat')).outcome()).toMatchObject({ status: 'completed' })
    expect((await chat.view()).title).toBeNull()
    isAsked.open()
    await until(async () => (await chat.view()).title)
    expect((await chat.view()).title).toBe('A hat for Rome')
    expect(await runtime.conversations()).toMatchObject([{ id: 'c1', title: 'A hat for Rome' }])
    await (await chat.send('Thanks')).outcome()
    expect(titles.calls).toHaveLength(1)
    expect(shapeOf(await chat.events()).filter((type) => type === 'titled')).toHaveLength(1)
  })

  test('comes from the agent’s own model and instructions of the app where it says so', async () => {
    const model = scriptedModel(({ n }) => (n === 1 ? 'fine' : 'Hats'))
    const agent = defineAgent({ name: 'chat', model, title: { instructions: 'One word.' } })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'chat' })
    await (await chat.send('I need a hat')).outcome()
    await until(async () => (await chat.view()).title === 'Hats')
    expect(model.calls[1]!.prompt[0]).toMatchObject({ role: 'system', content: 'One word.' })
    expect(model.calls[1]!.options.tools ?? []).toEqual([])
  })

  test('that cannot be generated changes nothing, is logged, and is tried again after the next turn', async () => {
    const warnings: string[] = []
    const logger: Logger = { debug: () => {}, info: () => {}, warn: (text) => warnings.push(text), error: () => {} }
    const titles = scriptedModel(({ n }) => (n === 1 ? { error: { status: 400 } } : 'Hats'))
    const agent = defineAgent({ name: 'chat', model: scriptedModel('fine'), title: { model: titles } })
    const chat = story.start({ agents: [agent], logger }).conversation('c1', { agent: 'chat' })
    expect(await (await chat.send('one')).outcome()).toMatchObject({ status: 'completed', text: 'fine' })
    await until(() => warnings.includes('no title could be generated'))
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
    expect(await (await chat.send('two')).outcome()).toMatchObject({ status: 'completed', text: 'fine' })
    await until(async () => (await chat.view()).title === 'Hats')
  })

  test('of two nodes that generate one at the same time, one is kept', async () => {
    const both = gate()
    let asked = 0
    const titles = (title: string) =>
      scriptedModel(async () => {
        asked += 1
        if (asked === 2) both.open()
        await both.opened
        return title
      })
    const isOver = gate()
    const model = scriptedModel(async ({ prompt }) => {
      if (JSON.stringify(prompt).includes('hold the line')) await isOver.opened
      return 'fine'
    })
    const agentOf = (title: string) => defineAgent({ name: 'chat', model, title: { model: titles(title) } })
    const store = story.openStore()
    const first = story.start({ agents: [agentOf('Hats')], store, maxConcurrentTurns: 1 })
    const chat = first.conversation('c1', { agent: 'chat' })
    await (await chat.send('one')).outcome()
    await until(() => asked === 1)
    // The first node has its hands full, so that the second takes the next turn while the first still waits for its title.
    const holding = await first.conversation('c0', { agent: 'chat' }).send('hold the line')
    await until(() => model.calls.length === 2)
    const second = story.start({ agents: [agentOf('Caps')], store: story.reopen(store) })
    const turn = await second.conversation('c1', { agent: 'chat' }).send('two')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const title = await until(async () => (await chat.view()).title)
    expect(['Hats', 'Caps']).toContain(title)
    isOver.open()
    await holding.outcome()
    await Promise.all([first.close(), second.close()])
    const events = await store.streamEvents('c1')
    expect(events.filter((event) => event.type === 'titled')).toMatchObject([{ content: { title } }])
    expect(await store.getConversation('c1')).toMatchObject({ title })
  })

  test('does not hold up the next turn, and the next turn does not hold it up', async () => {
    const isAsked = gate()
    const titles = scriptedModel(async () => {
      await isAsked.opened
      return 'Hats'
    })
    const agent = defineAgent({ name: 'chat', model: scriptedModel('fine'), title: { model: titles } })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'chat' })
    for (const text of ['one', 'two', 'three']) {
      expect(await (await chat.send(text)).outcome()).toMatchObject({ status: 'completed', text: 'fine' })
    }
    isAsked.open()
    await until(async () => (await chat.view()).title === 'Hats')
    expect(titles.calls).toHaveLength(1)
    expect(await (await chat.send('four')).outcome()).toMatchObject({ status: 'completed' })
    expect(shapeOf(await chat.events()).filter((type) => type === 'titled')).toHaveLength(1)
  })

  test('is not asked for where the agent does not want one', async () => {
    const model = scriptedModel('fine')
    const runtime = story.start({ agents: [defineAgent({ name: 'chat', model })] })
    await (await runtime.conversation('c1', { agent: 'chat' }).send('one')).outcome()
    await runtime.close()
    expect(model.calls).toHaveLength(1)
  })
})
