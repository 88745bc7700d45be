import { expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { overStores } from './over-stores.ts'

vi.setConfig({ testTimeout: 20_000 })

const titler = scriptedModel(() => 'A generated title')
const agent = defineAgent({ name: 'helper', model: scriptedModel(() => 'Hello.'), title: { model: titler } })

overStores('a title', (story) => {
  test('that is given by rename is in the log, in lists and live, and no other is generated', async () => {
    const before = titler.calls.length
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await expect(chat.rename('Too early')).rejects.toMatchObject({ code: 'conversation_not_found' })
    await runtime.store.putConversation('c1', { agent: 'helper' })
    await chat.rename('Refund of order 42')
    await (await chat.send('Hi')).outcome()
    const titles = (await chat.events()).filter(({ type }) => type === 'titled').map(({ content }) => content)
    expect(titles).toEqual([{ title: 'Refund of order 42' }])
    expect(await runtime.conversations()).toMatchObject([{ id: 'c1', title: 'Refund of order 42' }])
    const live = chat.watch({ after: 0 })
    for await (const event of live) {
      if (event.type !== 'titled') continue
      expect(event.content).toEqual({ title: 'Refund of order 42' })
      break
    }
    await (await chat.send('And again')).outcome()
    expect(titler.calls.length).toBe(before)
  })

  test('is the same in the log and in the row, whichever verb wrote it', async () => {
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    const { store } = runtime
    await store.putConversation('c1', { agent: 'helper', title: 'Given at first' })
    await (await chat.send('Hi')).outcome()
    const writes = [
      () => chat.rename('By rename'),
      () => store.putConversation('c1', { title: 'By putConversation' }),
      () => store.appendEvent('c1', { type: 'titled', content: { title: 'By appendEvent' } }),
      () => store.commit('c1', { events: [], conversation: { title: 'By commit' } }),
      () => chat.rename(null),
    ]
    for (const write of writes) {
      await write()
      const { title } = (await store.getConversation('c1'))!
      expect(foldEvents(await chat.events()).title).toBe(title)
    }
    expect(await store.getConversation('c1')).toMatchObject({ owner: 'system' })
    await runtime.close()
    expect(await examineStore(store)).toMatchObject({ faults: 0 })
  })

  test('that it has already writes nothing', async () => {
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await (await chat.send('Hi')).outcome()
    await chat.rename('Once')
    const { lastSeq } = (await runtime.store.getConversation('c1'))!
    await chat.rename('Once')
    await runtime.store.putConversation('c1', { title: 'Once' })
    expect((await runtime.store.getConversation('c1'))!.lastSeq).toBe(lastSeq)
  })

  test.each([
    ['', 'empty'],
    ['x'.repeat(1_001), '1001 characters'],
    [7, 'not 7'],
    [undefined, 'not undefined'],
  ])('that is wrong is refused, and the conversation goes on', async (title, says) => {
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await (await chat.send('Hi')).outcome()
    const refusal = { code: 'invalid_argument', message: expect.stringContaining(says) }
    await expect(chat.rename(title as string)).rejects.toMatchObject(refusal)
    expect(await (await chat.send('And now?')).outcome()).toMatchObject({ status: 'completed' })
  })

  test('that was removed is generated again after the next turn, where the agent has titles', async () => {
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await chat.send('Hi')
    await chat.rename('By hand')
    await chat.outcome()
    await chat.rename(null)
    await (await chat.send('And again')).outcome()
    await vi.waitFor(
      async () => expect(await runtime.conversations()).toMatchObject([{ title: 'A generated title' }]),
      { timeout: 20_000 },
    )
  })
})

overStores('a status', (story) => {
  test('that contradicts the log is refused with the status in the log, and the turn continues', async () => {
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await (await chat.send('Hi')).outcome()
    const refused = runtime.store.putConversation('c1', { status: 'suspended' })
    await expect(refused).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining("is 'suspended', but the log of 'c1' says 'idle'"),
    })
    await runtime.store.putConversation('c1', { status: 'idle' })
    expect(await (await chat.send('And again')).outcome()).toMatchObject({ status: 'completed' })
  })
})
