import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { foldEvents } from '../../src/log/fold-events.ts'
import { baseOf } from '../../src/log/state.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf } from './pending-of.ts'
import { untilShown } from './until-shown.ts'

function start(story: StoryContext) {
  const model = pacedModel()
  const agent = defineAgent({ name: 'slow', model })
  const store = story.openStore()
  const runtime = story.start({ agents: [agent], store })
  return { model, agent, store, runtime, chat: runtime.conversation('c1', { agent: 'slow' }) }
}

async function collect(stream: AsyncIterable<string>): Promise<string[]> {
  const pieces: string[] = []
  for await (const piece of stream) pieces.push(piece)
  return pieces
}

overStores('the outcome of a turn', (story) => {
  test('is known to everybody who asks, before and after it has ended', async () => {
    const { model, chat, runtime } = start(story)
    const turn = await chat.send('hello')
    const asked = [turn.outcome(), chat.outcome(), runtime.conversation('c1').turn(turn.turnId).outcome()]
    await model.answer(1, 'hi')
    const completed = { status: 'completed', turnId: turn.turnId, text: 'hi', reason: null }
    for (const outcome of await Promise.all(asked)) expect(outcome).toMatchObject(completed)
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject(completed)
    expect(await chat.outcome()).toMatchObject(completed)
  })

  test('of a turn that a summary has put away is told from the log', async () => {
    const { model, chat, store, agent } = start(story)
    const turn = await chat.send('hello', { key: 'once' })
    await model.answer(1, 'hi')
    await turn.outcome()
    const log = await store.streamEvents('c1')
    const [toSeq, base] = [log.length, baseOf(foldEvents(log))]
    await store.putSummary('c1', { fromSeq: 1, toSeq, content: 'They greeted.', version: 1, base })
    const later = story.start({ agents: [agent], store: story.reopen(store) }).conversation('c1', { agent: 'slow' })
    const again = await later.send('hello', { key: 'once' })
    expect(await again.outcome()).toMatchObject({ status: 'completed', turnId: turn.turnId, text: 'hi' })
  })

  test('of a queued turn is awaited through the turns before it', async () => {
    const { model, chat } = start(story)
    await chat.send('one')
    const turn = await chat.send('two', { whenBusy: 'queue' })
    const outcome = turn.outcome()
    await model.answer(1, 'first')
    await model.answer(2, 'second')
    expect(await outcome).toMatchObject({ status: 'completed', text: 'second' })
  })

  test('can be asked for while others watch and the model speaks', async () => {
    const { model, chat } = start(story)
    const first = await chat.send('one')
    const call = await model.called(1)
    const watching = new AbortController()
    // Each word is heard, and answered by another. Not for ever: a message has its limit.
    let words = 0
    const watched = (async () => {
      for await (const _ of chat.watch({ signal: watching.signal })) if (++words < 5_000) call.say('word ')
    })()
    const outcomes = []
    for (let n = 0; n < 5; n++) {
      const turn = await chat.send(`queued ${n}`, { whenBusy: 'queue' })
      outcomes.push(turn.outcome())
      call.say('and ')
    }
    watching.abort()
    await watched
    call.finish()
    expect(await first.outcome()).toMatchObject({ status: 'completed' })
    for (let n = 0; n < 5; n++) await model.answer(n + 2, `answer ${n}`)
    for (const [n, outcome] of outcomes.entries()) {
      expect(await outcome).toMatchObject({ status: 'completed', text: `answer ${n}` })
    }
  })

  test('of a turn that never was is that it never was', async () => {
    const { chat, model } = start(story)
    expect(await chat.turn('nobody').outcome()).toMatchObject({ status: 'detached', turnId: 'nobody' })
    expect(await chat.outcome()).toMatchObject({ status: 'detached' })
    expect(await collect(chat.turn('nobody').textStream)).toEqual([])
    const turn = await chat.send('hello')
    await model.answer(1, 'hi')
    await turn.outcome()
    expect(await chat.turn('nobody').outcome()).toMatchObject({ status: 'detached', turnId: 'nobody' })
    expect(await collect(chat.turn('nobody').textStream)).toEqual([])
  })

  test('of a conversation deleted here is detached', async () => {
    const { model, chat } = start(story)
    const turn = await chat.send('hello')
    const call = await model.called(1)
    const awaited = [turn.outcome(), chat.outcome()]
    const stream = collect(turn.textStream)
    expect(await chat.delete()).toBe(true)
    for (const outcome of await Promise.all(awaited)) expect(outcome).toMatchObject({ status: 'detached' })
    expect(await stream).toEqual([])
    expect(await turn.outcome()).toMatchObject({ status: 'detached' })
    expect(call.signal?.aborted).toBe(true)
  })

  test('of a conversation deleted by another process is detached', async () => {
    const { model, agent, store, chat } = start(story)
    const turn = await chat.send('hello')
    await model.called(1)
    const outcome = turn.outcome()
    const there = story.start({ agents: [agent], store: story.reopen(store), work: false })
    expect(await there.conversation('c1').delete()).toBe(true)
    expect(await outcome).toMatchObject({ status: 'detached' })
  })

  test('is detached when the runtime is closed', async () => {
    const { model, runtime, chat } = start(story)
    const turn = await chat.send('hello')
    const call = await model.called(1)
    call.say('so far')
    await untilShown(chat, 'so far')
    const outcome = turn.outcome()
    const stream = turn.textStream[Symbol.asyncIterator]()
    expect(await stream.next()).toMatchObject({ value: 'so far' })
    await runtime.close({ drainMs: 0 })
    expect(await outcome).toMatchObject({ status: 'detached', reason: expect.stringContaining('closed') })
    expect(await turn.outcome()).toMatchObject({ status: 'detached' })
    expect(await stream.next()).toMatchObject({ done: true })
    await expect(chat.send('more')).rejects.toMatchObject({ code: 'runtime_closed' })
  })

  test('never rejects, also when the store is gone', async () => {
    const { model, store, chat } = start(story)
    const turn = await chat.send('hello')
    await model.called(1)
    const outcome = turn.outcome()
    await store.close()
    expect(await turn.outcome()).toMatchObject({ status: 'detached' })
    expect(await chat.outcome()).toMatchObject({ status: 'detached' })
    expect(await outcome).toMatchObject({ status: 'detached' })
  })
})

overStores('the text of a turn as it is written', (story) => {
  test('comes piece by piece, also for who joins late, and ends with the turn', async () => {
    const { model, chat } = start(story)
    const turn = await chat.send('tell me')
    const call = await model.called(1)
    const early = collect(turn.textStream)
    call.say('Once ')
    await untilShown(chat, 'Once ')
    const late = collect(turn.textStream)
    call.say('upon ')
    call.answer('a time.')
    expect((await early).join('')).toBe('Once upon a time.')
    expect((await late).join('')).toBe('Once upon a time.')
    expect(await collect(turn.textStream)).toEqual(['Once upon a time.'])
  })

  test('has the messages of all steps, and ends when an answer is needed', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'Ask',
      input: z.object({}),
      executor: 'human',
      output: z.string(),
    })
    const model = scriptedModel([{ text: ['Let me ', 'ask.'], calls: [{ tool: 'ask', args: {} }] }, 'Thanks.'])
    const agent = defineAgent({ name: 'asker', model, tools: [ask] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'asker' })
    const turn = await chat.send('go')
    expect((await collect(turn.textStream)).join('')).toBe('Let me ask.')
    await chat.answer(await onlyPendingOf(turn), 'blue')
    expect((await collect(turn.textStream)).join('')).toBe('Let me ask.Thanks.')
  })

  test('leaves out the reasoning and the other turns', async () => {
    const model = scriptedModel(({ n }) => ({ reasoning: 'hmm', text: `answer ${n}` }))
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })] }).conversation('c1', { agent: 'a' })
    await (await chat.send('one')).outcome()
    const turn = await chat.send('two')
    expect((await collect(turn.textStream)).join('')).toBe('answer 2')
  })
})
