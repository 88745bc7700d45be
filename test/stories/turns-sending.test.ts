import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { shapeOf } from './texts.ts'

const picture = { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) } as const
/** What the store would call it. */
const ref = {
  blob: '039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81',
  mediaType: 'image/png',
  size: 3,
}

function start(story: StoryContext) {
  const model = pacedModel()
  const runtime = story.start({ agents: [defineAgent({ name: 'a', model }), defineAgent({ name: 'b', model })] })
  return { model, runtime, chat: runtime.conversation('c1', { agent: 'a' }) }
}

overStores('sending a message', (story) => {
  test('records who sent it, and the options of its turn with the agent’s defaults', async () => {
    const model = scriptedModel('fine')
    const agent = defineAgent({ name: 'a', model, maxSteps: 7, maxTokens: 1_000 })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'a' })
    await (await chat.send('hello', { key: 'k1', maxTokens: 500 })).outcome()
    const [message] = await chat.events()
    expect(message?.content).toMatchObject({
      who: 'ann',
      key: 'k1',
      message: { parts: [{ type: 'text', text: 'hello' }] },
      options: { maxSteps: 7, maxTokens: 500 },
    })
  })

  test('to no agent, or to the conversation of another agent, is refused', async () => {
    const { runtime, chat, model } = start(story)
    await expect(runtime.conversation('c2').send('hello')).rejects.toMatchObject({ code: 'agent_missing' })
    await expect(runtime.conversation('c2', { agent: 'z' as 'a' }).send('hello')).rejects.toMatchObject({
      code: 'agent_missing',
      message: expect.stringContaining('a, b'),
    })
    const turn = await chat.send('hello')
    await model.answer(1, 'hi')
    await turn.outcome()
    const other = runtime.conversation('c1', { agent: 'b' })
    await expect(other.send('hello')).rejects.toMatchObject({ code: 'agent_mismatch' })
    const known = await runtime.conversation('c1').send('again')
    await model.answer(2, 'yes')
    expect(await known.outcome()).toMatchObject({ status: 'completed' })
  })

  test('that says nothing, or has a senseless key, is refused and leaves no trace', async () => {
    const { runtime, chat } = start(story)
    await expect(chat.send(' ')).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(chat.send([])).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(chat.send('hello', { key: '' })).rejects.toMatchObject({ code: 'invalid_id' })
    await expect(chat.send('hello', { key: 'k'.repeat(300) })).rejects.toMatchObject({ code: 'invalid_id' })
    await expect(chat.send('x'.repeat(1024 * 1024 + 1))).rejects.toMatchObject({ code: 'event_too_large' })
    expect(await runtime.conversations()).toEqual([])
  })

  test('with a file keeps the file as long as the conversation, however often it was sent', async () => {
    const { runtime, chat, model } = start(story)
    const turn = await chat.send([picture, picture], { key: 'k1' })
    const { store } = runtime
    for (let n = 0; n < 3; n++) expect((await chat.send([picture, picture], { key: 'k1' })).turnId).toBe(turn.turnId)
    await model.answer(1, 'nice')
    await turn.outcome()
    expect((await store.getBlob(ref))?.bytes).toHaveLength(3)
    expect((await chat.send([picture, picture], { key: 'k1' })).turnId).toBe(turn.turnId)
    await expect(chat.send([picture], { key: 'k1' })).rejects.toMatchObject({ code: 'key_reused' })
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
    await chat.delete()
    expect(await store.getBlob(ref)).toBeNull()
  })

  test('with a file that is refused stores nothing', async () => {
    const { runtime, chat, model } = start(story)
    await chat.send('hello')
    await model.called(1)
    await expect(chat.send([picture])).rejects.toMatchObject({ code: 'conversation_busy' })
    await expect(chat.send([picture], { key: 'k1' })).rejects.toMatchObject({ code: 'conversation_busy' })
    await expect(chat.send([picture, { type: 'video' } as never])).rejects.toMatchObject({ code: 'invalid_argument' })
    expect(await runtime.store.getBlob(ref)).toBeNull()
  })

  test('to a node that does not work is taken, and answered by one that does', async () => {
    const model = scriptedModel('fine')
    const agent = defineAgent({ name: 'a', model })
    const store = story.openStore()
    const api = story.start({ agents: [agent], store, work: false }).conversation('c1', { agent: 'a' })
    const turn = await api.send('hello')
    expect(model.calls).toEqual([])
    story.start({ agents: [agent], store: story.reopen(store) })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'fine' })
  })

  test('behind the wall of one tenant is not seen from another', async () => {
    const agent = defineAgent({ name: 'a', model: scriptedModel('fine') })
    const restoreScope = (tenant: string) => createScope({ tenant })
    const runtime = story.start({ agents: [agent], tenant: (scope) => scope.tenant ?? '', restoreScope })
    const chatOf = (tenant: string) => runtime.as(createScope({ tenant })).conversation('c1', { agent: 'a' })
    await (await chatOf('acme').send('hello')).outcome()
    expect(await chatOf('other').events()).toEqual([])
    expect((await chatOf('other').view()).messages).toEqual([])
    expect(() => runtime.conversation('c1', { agent: 'a' })).toThrow(
      expect.objectContaining({ code: 'tenant_missing' }),
    )
    await (await chatOf('other').send('hello')).outcome()
    expect(await chatOf('other').events()).toHaveLength(3)
  })
})

overStores('a key that was used before', (story) => {
  test('says which turn it made when another message is sent with it', async () => {
    const agent = defineAgent({ name: 'a', model: scriptedModel('fine') })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    const turn = await chat.send('hello', { key: 'k1' })
    expect((await chat.send('hello', { key: 'k1' })).turnId).toBe(turn.turnId)
    const file = { type: 'file', mediaType: 'image/png', data: new Uint8Array([1]) } as const
    for (const other of ['goodbye', { parts: [file] }]) {
      await expect(chat.send(other, { key: 'k1' })).rejects.toMatchObject({
        code: 'key_reused',
        turnId: turn.turnId,
        message: expect.stringContaining(`which made the turn '${turn.turnId}'`),
      })
    }
  })
})
