import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { gate } from './gate.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { linesOf, shapeOf } from './texts.ts'
import { until } from './until.ts'
import { untilShown } from './until-shown.ts'

function start(story: StoryContext) {
  const model = pacedModel()
  const isDone = gate<string>()
  const scopes: (string | undefined)[] = []
  const look = defineTool({
    name: 'look',
    description: 'Look it up',
    input: z.object({}),
    run: (_, turn) => {
      scopes.push(turn.scope.user)
      return isDone.opened
    },
  })
  const agent = defineAgent({ name: 'guide', model, tools: [look] })
  const runtime = story.start({ agents: [agent] })
  return { model, isDone, scopes, runtime, chat: runtime.conversation('c1', { agent: 'guide' }) }
}

overStores('steering a turn', (story) => {
  test('while it is streaming: the message goes on, and the model is asked again with both', async () => {
    const { model, chat } = start(story)
    const turn = await chat.send('tell me a story')
    const first = await model.called(1)
    first.say('Once upon')
    await untilShown(chat, 'Once upon')
    expect((await chat.send('a short one', { whenBusy: 'steer' })).turnId).toBe(turn.turnId)
    expect(first.signal?.aborted).toBe(false)
    first.answer(' a time.')
    const second = await model.called(2)
    expect(linesOf(second.prompt)).toEqual([
      'user: tell me a story',
      'assistant: Once upon a time.',
      'user: a short one',
    ])
    second.answer('The end.')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'The end.' })
    expect(shapeOf(await chat.events())).toEqual([
      'user_msg',
      'user_msg',
      'assistant_msg complete',
      'assistant_msg complete',
      'turn_ended completed',
    ])
  })

  test('while a tool runs: its result is awaited, and both are read together', async () => {
    const { model, chat, isDone } = start(story)
    const turn = await chat.send('what is it?')
    const first = await model.called(1)
    first.call('look', {})
    first.finish()
    await until(async () => (await chat.events()).some((event) => event.type === 'tool_started'))
    await chat.send('quickly', { whenBusy: 'steer' })
    expect(model.calls).toHaveLength(1)
    isDone.open('a hat')
    const second = await model.called(2)
    expect(linesOf(second.prompt)).toEqual([
      'user: what is it?',
      'assistant: [tool-call look]',
      'tool: [tool-result look]',
      'user: quickly',
    ])
    second.answer('A hat.')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'A hat.' })
  })

  test('several times: every message is read, in order, and none ends the turn early', async () => {
    const { model, chat } = start(story)
    const turn = await chat.send('one')
    const first = await model.called(1)
    for (const text of ['two', 'three']) await chat.send(text, { whenBusy: 'steer' })
    first.answer('first')
    const second = await model.called(2)
    expect(linesOf(second.prompt)).toEqual(['user: one', 'assistant: first', 'user: two', 'user: three'])
    await chat.send('four', { whenBusy: 'steer' })
    second.answer('second')
    await model.answer(3, 'third')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'third' })
  })

  test('a turn that is being cancelled is not steered: the message queues', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'guide', model })
    const store = story.openStore()
    const api = story.start({ agents: [agent], store, work: false }).conversation('c1', { agent: 'guide' })
    const turn = await api.send('what is it?')
    const { turnId } = turn
    await store.commit('c1', { events: [{ type: 'cancel_requested', content: { turnId, who: 'ann' } }] })
    const next = await api.send('and that?', { whenBusy: 'steer' })
    expect(next.turnId).not.toBe(turnId)
    story.start({ agents: [agent], store })
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled' })
    await model.answer(1, 'That is a hat.')
    expect(linesOf(model.calls[0]!.prompt)).toEqual(['user: what is it?', 'user: and that?'])
    expect(await next.outcome()).toMatchObject({ status: 'completed', text: 'That is a hat.' })
  })

  test('does not change whose turn it is', async () => {
    const { model, runtime, isDone, scopes } = start(story)
    const ann = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'guide' })
    const bob = runtime.as(createScope({ user: 'bob' })).conversation('c1', { agent: 'guide' })
    const turn = await ann.send('what is it?', { key: 'k' })
    const first = await model.called(1)
    await bob.send('tell him', { whenBusy: 'steer' })
    await expect(bob.send('something else', { key: 'k' })).rejects.toMatchObject({ code: 'key_reused' })
    first.call('look', {})
    first.finish()
    isDone.open('a hat')
    await model.answer(2, 'A hat.')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(scopes).toEqual(['ann'])
  })
})

overStores('steering by another person', (story) => {
  test('queues: a turn acts for one person alone', async () => {
    const { model, runtime, scopes, isDone } = start(story)
    const [ann, bob] = ['ann', 'bob'].map((user) =>
      runtime.as(createScope({ user })).conversation('c1', { agent: 'guide' }),
    )
    const turn = await ann!.send('what is it?')
    const first = await model.called(1)
    const other = await bob!.send('and for me?', { whenBusy: 'steer' })
    expect(other.turnId).not.toBe(turn.turnId)
    const own = await ann!.send('quickly', { whenBusy: 'steer' })
    expect(own.turnId).toBe(turn.turnId)
    first.answer('A hat.')
    const second = await model.called(2)
    expect(linesOf(second.prompt)).toEqual(['user: what is it?', 'assistant: A hat.', 'user: quickly'])
    second.answer('Still a hat.')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Still a hat.' })
    const third = await model.called(3)
    third.call('look', {})
    third.finish()
    isDone.open('another hat')
    const fourth = await model.called(4)
    fourth.answer('Another.')
    expect(await other.outcome()).toMatchObject({ status: 'completed', text: 'Another.' })
    expect(scopes).toEqual(['bob'])
  })
})
