import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { overStores } from './over-stores.ts'
import { linesOf, shapeOf } from './texts.ts'

/** More than an event may hold. */
const tooMuch = 'x'.repeat(1024 * 1024 + 1)

overStores('a model that says more than an event can hold', (story) => {
  const context = { ceiling: 10_000_000, workingBudget: 5_000_000 }

  test('fails the turn and says why, and the conversation goes on', async () => {
    const model = scriptedModel([tooMuch, 'briefly'])
    const agent = defineAgent({ name: 'a', model, context })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const outcome = await (await chat.send('talk')).outcome()
    expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringContaining('event_too_large') })
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'turn_ended failed'])
    expect((await chat.view()).drafts).toEqual([])
    expect(await (await chat.send('briefly')).outcome()).toMatchObject({ status: 'completed', text: 'briefly' })
    expect(linesOf(model.calls[1]!.prompt)).toEqual(['user: talk', 'user: briefly'])
    checkHistory(await chat.events())
  })

  test('beside calls does not run them', async () => {
    const runs: string[] = []
    const act = defineTool({ name: 'act', description: 'Act', input: z.object({}), run: () => void runs.push('act') })
    const model = scriptedModel([{ text: tooMuch, calls: [{ tool: 'act', args: {} }] }, 'fine'])
    const agent = defineAgent({ name: 'a', model, tools: [act], context })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('talk')).outcome()).toMatchObject({ status: 'failed' })
    expect(runs).toEqual([])
    expect(await (await chat.send('and now?')).outcome()).toMatchObject({ status: 'completed' })
  })

  test('does not keep queued turns from being answered', async () => {
    const model = scriptedModel([tooMuch, 'second'])
    const agent = defineAgent({ name: 'a', model, context })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const turns = [await chat.send('one'), await chat.send('two', { whenBusy: 'queue' })]
    expect(await turns[0]!.outcome()).toMatchObject({ status: 'failed' })
    expect(await turns[1]!.outcome()).toMatchObject({ status: 'completed', text: 'second' })
  })

  test('and is cancelled meanwhile: the turn ends cancelled all the same', async () => {
    const model = scriptedModel(() => ({ text: [tooMuch, 'and on'], delayMs: 2_000 }))
    const agent = defineAgent({ name: 'a', model, context })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    await chat.send('talk')
    for await (const event of chat.watch()) {
      if (event.type === 'text_delta' || (event.type === 'snapshot' && event.view.drafts.length > 0)) break
    }
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    checkHistory(await chat.events())
  })
})
