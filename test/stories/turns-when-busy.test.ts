import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { type PacedModel, pacedModel } from './paced-model.ts'
import { linesOf, shapeOf } from './texts.ts'
import { untilShown } from './until-shown.ts'

function start(story: StoryContext) {
  const model = pacedModel()
  const agent = defineAgent({ name: 'slow', model })
  const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'slow' })
  return { model, chat }
}

overStores('a message to a conversation that is busy', (story) => {
  test('is refused unless it says otherwise, and leaves no trace', async () => {
    const { model, chat } = start(story)
    const turn = await chat.send('one')
    const call = await model.called(1)
    await expect(chat.send('two')).rejects.toMatchObject({ code: 'conversation_busy', turnId: turn.turnId })
    await expect(chat.send('two', { whenBusy: 'reject' })).rejects.toMatchObject({ code: 'conversation_busy' })
    call.answer('first')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'first' })
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
  })

  test('is refused when it says something unknown', async () => {
    const { chat } = start(story)
    await expect(chat.send('one', { whenBusy: 'later' as never })).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  test('queued ones are answered after it, in the order they came', async () => {
    const { model, chat } = start(story)
    const turns = [await chat.send('one')]
    for (const text of ['two', 'three']) turns.push(await chat.send(text, { whenBusy: 'queue' }))
    const queued = (await chat.view()).messages.filter((message) => message.role === 'user' && message.isQueued)
    expect(queued).toHaveLength(2)
    for (const [index, text] of ['first', 'second', 'third'].entries()) {
      await model.answer(index + 1, text)
      expect(await turns[index]!.outcome()).toMatchObject({ status: 'completed', text })
    }
    expect(linesOf(model.calls[1]!.prompt)).toEqual(['user: one', 'assistant: first', 'user: two'])
    expect(linesOf(model.calls[2]!.prompt)).toEqual([
      'user: one',
      'assistant: first',
      'user: two',
      'assistant: second',
      'user: three',
    ])
  })

  test('interrupting cancels the open turn with what it had said, and is answered next', async () => {
    const { model, chat } = start(story)
    const first = await chat.send('one')
    const call = await model.called(1)
    call.say('as I was say')
    await untilShown(chat, 'as I was say')
    const second = await chat.send('two', { whenBusy: 'interrupt' })
    expect(await first.outcome()).toMatchObject({ status: 'cancelled', text: 'as I was say' })
    expect(call.signal?.aborted).toBe(true)
    await model.answer(2, 'second')
    expect(await second.outcome()).toMatchObject({ status: 'completed', text: 'second' })
    expect(linesOf(model.calls[1]!.prompt)).toEqual([
      'user: one',
      'assistant: as I was say [This message was cut off: the user cancelled it.]',
      'user: two',
    ])
    expect(shapeOf(await chat.events())).toEqual([
      'user_msg',
      'cancel_requested',
      'user_msg',
      'assistant_msg cancelled',
      'turn_ended cancelled',
      'assistant_msg complete',
      'turn_ended completed',
    ])
  })

  test('interrupting does not jump the queue', async () => {
    const { model, chat } = start(story)
    const first = await chat.send('one')
    const queued = await chat.send('two', { whenBusy: 'queue' })
    await model.called(1)
    const interrupting = await chat.send('three', { whenBusy: 'interrupt' })
    expect(await first.outcome()).toMatchObject({ status: 'cancelled' })
    await model.answer(2, 'second')
    expect(await queued.outcome()).toMatchObject({ status: 'completed', text: 'second' })
    await model.answer(3, 'third')
    expect(await interrupting.outcome()).toMatchObject({ status: 'completed', text: 'third' })
  })

  test('queueing, steering and interrupting an idle conversation just send', async () => {
    const { model, chat } = start(story)
    for (const [index, whenBusy] of (['queue', 'steer', 'interrupt'] as const).entries()) {
      const turn = await chat.send(whenBusy, { whenBusy })
      await model.answer(index + 1, 'yes')
      expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'yes' })
    }
    expect((await chat.events()).filter((event) => event.type === 'cancel_requested')).toEqual([])
  })

  test('many at once, from two runtimes and in every form, lose nothing and end every turn once', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    const chats = [store, story.reopen(store)].map((given) =>
      story.start({ agents: [agent], store: given }).conversation('c1', { agent: 'slow' }),
    )
    const forms = ['queue', 'steer', 'interrupt', 'queue', 'steer', 'interrupt'] as const
    const answering = new AbortController()
    const answers = answerAll(model, answering.signal)
    const turns = await Promise.all(forms.map((whenBusy, n) => chats[n % 2]!.send(`message ${n}`, { whenBusy })))
    const outcomes = await Promise.all(turns.map((turn) => turn.outcome()))
    answering.abort()
    await answers
    for (const { status } of outcomes) expect(['completed', 'cancelled']).toContain(status)
    const events = await chats[0]!.events()
    const texts = events.flatMap((event) => (event.type === 'user_msg' ? [event.content.message.parts[0]] : []))
    expect(texts).toHaveLength(forms.length)
    const ends = events.flatMap((event) => (event.type === 'turn_ended' ? [event.content.turnId] : []))
    expect(ends.toSorted()).toEqual([...new Set(turns.map((turn) => turn.turnId))].toSorted())
  })
})

async function answerAll(model: PacedModel, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; ) {
    const call = model.calls[n]
    if (call) {
      n += 1
      call.answer(`answer ${n}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
