import { expect, test } from 'vitest'
import { z } from 'zod'
import { postHook, regenerate } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { ViewMessage } from '../../src/view/view.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'

function textOf(message: ViewMessage): string {
  const words = message.parts.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`))
  return `${message.role}: ${words.join('')}`
}

overStores('the history of a conversation', (story) => {
  test('comes in pages of whole turns, the newest first, back to the beginning', async () => {
    const model = scriptedModel(({ n }) => `answer ${n}`)
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })] }).conversation('c1', { agent: 'a' })
    for (let n = 1; n <= 5; n++) await (await chat.send(`message ${n}`)).outcome()
    const pages: string[][] = []
    let before: number | undefined
    do {
      const page = await chat.history({ limit: 2, ...(before === undefined ? {} : { before }) })
      pages.push(page.messages.map(textOf))
      before = page.before ?? undefined
    } while (before !== undefined)
    expect(pages).toEqual([
      ['user: message 4', 'assistant: answer 4', 'user: message 5', 'assistant: answer 5'],
      ['user: message 2', 'assistant: answer 2', 'user: message 3', 'assistant: answer 3'],
      ['user: message 1', 'assistant: answer 1'],
    ])
    expect((await chat.history()).messages).toHaveLength(10)
    expect((await chat.history()).before).toBeNull()
  })

  test('of nothing is empty', async () => {
    const chat = story.start({ agents: [defineAgent({ name: 'a', model: scriptedModel('x') })] }).conversation('c1')
    expect(await chat.history()).toEqual({ messages: [], notes: [], before: null })
    expect(await chat.events()).toEqual([])
  })

  test('has queued turns whole, though their events are among those of others', async () => {
    const model = pacedModel()
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })] }).conversation('c1', { agent: 'a' })
    await chat.send('one')
    await chat.send('two', { whenBusy: 'queue' })
    const last = await chat.send('three', { whenBusy: 'queue' })
    for (const [n, text] of ['first', 'second', 'third'].entries()) await model.answer(n + 1, text)
    await last.outcome()
    const pages: string[][] = []
    let before: number | undefined
    do {
      const page = await chat.history({ limit: 1, ...(before === undefined ? {} : { before }) })
      pages.push(page.messages.map(textOf))
      before = page.before ?? undefined
    } while (before !== undefined)
    expect(pages).toEqual([
      ['user: three', 'assistant: third'],
      ['user: two', 'assistant: second'],
      ['user: one', 'assistant: first'],
    ])
  })

  test('has an older page while its turn is still open, and once it has ended', async () => {
    const model = pacedModel()
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })] }).conversation('c1', { agent: 'a' })
    await chat.send('one')
    await model.called(1)
    const last = await chat.send('two', { whenBusy: 'queue' })
    const newest = await chat.history({ limit: 1 })
    expect(newest.messages.map(textOf)).toEqual(['user: two'])
    const older = { limit: 1, before: newest.before! }
    expect(await chat.history(older)).toMatchObject({ messages: [{ role: 'user', seq: 1 }], before: null })
    await model.answer(1, 'first')
    await model.answer(2, 'second')
    await last.outcome()
    expect((await chat.history(older)).messages.map(textOf)).toEqual(['user: one', 'assistant: first'])
  })

  test('has what regenerated messages became, also beside queued turns', async () => {
    let asked = 0
    const better = postHook('better', () => {
      asked += 1
      return asked === 1 ? regenerate('shorter') : undefined
    })
    const model = pacedModel()
    const agent = defineAgent({ name: 'a', model, hooks: [better] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    await chat.send('one')
    const call = await model.called(1)
    const last = await chat.send('two', { whenBusy: 'queue' })
    call.answer('a long answer')
    await model.answer(2, 'short')
    await model.answer(3, 'second')
    await last.outcome()
    const newest = await chat.history({ limit: 1 })
    expect(newest.messages.map(textOf)).toEqual(['user: two', 'assistant: second'])
    const oldest = await chat.history({ limit: 1, before: newest.before! })
    expect(oldest.messages.map(textOf)).toEqual(['user: one', 'assistant: short'])
  })

  test('shows calls with what came of them, and turns that are far longer than usual', async () => {
    const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'nothing' })
    const model = scriptedModel(({ n }) => (n % 12 === 0 ? 'Done.' : { calls: [{ tool: 'look', args: {} }] }))
    const agent = defineAgent({ name: 'a', model, tools: [look] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    for (const text of ['one', 'two']) await (await chat.send(text)).outcome()
    const page = await chat.history({ limit: 1 })
    expect(page.messages).toHaveLength(13)
    expect(page.messages[1]).toMatchObject({ parts: [{ type: 'call', phase: 'ended', end: { ok: true } }] })
    expect(page.messages.at(-1)).toMatchObject({ role: 'assistant', parts: [{ text: 'Done.' }] })
    const rest = await chat.history({ limit: 1, before: page.before! })
    expect(rest.messages).toHaveLength(13)
    expect(rest.before).toBeNull()
  })

  test('is the log underneath, in any range', async () => {
    const model = scriptedModel('fine')
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })] }).conversation('c1', { agent: 'a' })
    for (const text of ['one', 'two']) await (await chat.send(text)).outcome()
    const events = await chat.events()
    expect(events.map((event) => event.seq)).toEqual([1, 2, 3, 4, 5, 6])
    expect(await chat.events({ after: 2, before: 5 })).toEqual(events.slice(2, 4))
    expect(await chat.events({ limit: 2 })).toEqual(events.slice(4))
  })
})
