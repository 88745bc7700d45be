import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { checkHistory } from '../log/check-history.ts'
import { toldOverHttp, waitingSubscriber } from '../support/told-elsewhere.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { linesOf, shapeOf } from './texts.ts'

vi.setConfig({ testTimeout: 30_000 })

/** A desk that refunds when it is told to, looks up when it is asked about an order, and otherwise repeats what was said. */
function desk(story: StoryContext, { approval = false } = {}) {
  const refunds: string[] = []
  const lookups: string[] = []
  const input = z.object({ order: z.string() })
  const refund = defineTool({
    ...{
      name: 'refund',
      description: 'Refund an order',
      input,
      approval: approval ? ('required' as const) : ('auto' as const),
    },
    run: ({ order }) => {
      refunds.push(order)
      return 'refunded'
    },
  })
  const lookup = defineTool({
    ...{ name: 'lookup', description: 'Look up an order', input, ifInterrupted: 'rerun' as const },
    run: ({ order }) => {
      lookups.push(order)
      return { order, paid: 50 }
    },
  })
  let answers = 0
  const model = scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)!
    const said = JSON.stringify(last.content)
    answers += 1
    if (last.role !== 'user') return `answer ${answers}`
    if (said.includes('refund')) return { calls: [{ tool: 'refund', args: { order: 'o-17' } }] }
    return said.includes('order') ? { calls: [{ tool: 'lookup', args: { order: 'o-17' } }] } : `answer ${answers}`
  })
  const agent = defineAgent({ name: 'desk', model, tools: [refund, lookup] })
  const { calls: waiting, subscriber } = waitingSubscriber()
  const runtime = story.start({ agents: [agent], ...(approval ? { subscribers: [subscriber] } : {}) })
  const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'desk' })
  const say = async (text: string, options = {}) => {
    const turn = await chat.send(text, options)
    await turn.outcome()
    return turn
  }
  const texts = async () => (await chat.view()).messages.map(({ role, parts }) => `${role}: ${JSON.stringify(parts)}`)
  return { agent, runtime, chat, waiting, model, refunds, lookups, say, texts }
}

overStores('a message that replaces a turn', (story) => {
  test('takes its place in view, history and prompt, with all after it; the log keeps everything', async () => {
    const { chat, say, model } = desk(story)
    await say('one')
    const second = await say('two')
    await say('three')
    const before = await chat.events()
    const edited = await say('two, edited', { replaces: second.turnId })
    const { messages } = await chat.view()
    const users = messages.filter(({ role }) => role === 'user')
    expect(users.map(({ parts }) => JSON.stringify(parts))).toEqual([
      expect.stringContaining('one'),
      expect.stringContaining('two, edited'),
    ])
    expect(users[0]).not.toHaveProperty('variants')
    expect(users[1]).toMatchObject({ turnId: edited.turnId, variants: 2, previousSeq: before.length })
    const log = await chat.events()
    expect(log.slice(0, before.length)).toEqual(before)
    expect(shapeOf(log).slice(before.length)).toEqual([
      'superseded',
      'user_msg',
      'assistant_msg complete',
      'turn_ended completed',
    ])
    expect(log[before.length]!.content).toEqual({ fromSeq: 4, by: edited.turnId })
    expect(linesOf(model.calls.at(-1)!.prompt)).toEqual(['user: one', 'assistant: answer 1', 'user: two, edited'])
    checkHistory(log)
  })

  test('is one commit, on the log that it was decided on, and a second variant keeps the place of the first', async () => {
    const { chat, say } = desk(story)
    const first = await say('one')
    const second = await say('two', { replaces: first.turnId })
    const third = await say('three', { replaces: second.turnId })
    const marks = (await chat.events()).filter(({ type }) => type === 'superseded')
    expect(marks.map(({ content }) => content)).toEqual([
      { fromSeq: 1, by: second.turnId },
      { fromSeq: 1, by: third.turnId },
    ])
    const [message] = (await chat.view()).messages
    expect(message).toMatchObject({ turnId: third.turnId, variants: 3 })
  })

  test('is refused while a turn is open, for a turn that was replaced or never was, and with options that do not fit', async () => {
    const { chat, say, runtime } = desk(story, { approval: true })
    const first = await say('one')
    await say('again', { replaces: first.turnId })
    await expect(chat.send('x', { replaces: first.turnId })).rejects.toMatchObject({ code: 'turn_superseded' })
    await expect(chat.send('x', { replaces: 'absent' })).rejects.toMatchObject({ code: 'turn_not_found' })
    await expect(chat.send('x', { replaces: first.turnId, whenBusy: 'queue' })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    await expect(chat.send('x', { force: true })).rejects.toMatchObject({ code: 'invalid_argument' })
    const waiting = await chat.send('refund it')
    await onlyPendingOf(waiting)
    for (const turnId of [waiting.turnId, first.turnId]) {
      const refused = chat.send('x', { replaces: turnId })
      await expect(refused).rejects.toMatchObject({ code: 'conversation_busy' })
    }
    await expect(chat.retry()).rejects.toThrow(/Wait until it has ended, or cancel it; then replace it/)
    await expect(runtime.conversation('new', { agent: 'desk' }).retry()).rejects.toMatchObject({
      code: 'conversation_not_found',
    })
    const queued = await chat.send('later', { whenBusy: 'queue' })
    await chat.cancel()
    await queued.outcome()
    expect((await (await chat.retry(queued.turnId)).outcome()).status).toBe('completed')
  })

  test('with a key happens once, and the key is not good for replacing another turn', async () => {
    const { chat, say } = desk(story)
    const first = await say('one')
    const edited = await say('two', { replaces: first.turnId, key: 'k1' })
    const log = await chat.events()
    expect((await chat.send('two', { replaces: first.turnId, key: 'k1' })).turnId).toBe(edited.turnId)
    await expect(chat.send('two', { key: 'k1' })).rejects.toMatchObject({ code: 'key_reused' })
    await expect(chat.send('two', { replaces: edited.turnId, key: 'k1' })).rejects.toMatchObject({ code: 'key_reused' })
    expect(await chat.events()).toEqual(log)
    const again = await chat.retry(edited.turnId, { key: 'k2' })
    await again.outcome()
    expect((await chat.retry(edited.turnId, { key: 'k2' })).turnId).toBe(again.turnId)
    await expect(chat.retry(undefined, { key: 'k2' })).rejects.toMatchObject({ code: 'key_reused' })
  })

  test('of two that come at once, one wins and the other is told', async () => {
    const { chat, say } = desk(story)
    const first = await say('one')
    const results = await Promise.allSettled([
      chat.send('two', { replaces: first.turnId }),
      chat.send('three', { replaces: first.turnId }),
    ])
    const lost = results.filter((result) => result.status === 'rejected')
    expect(lost).toHaveLength(1)
    expect(['conversation_busy', 'turn_superseded']).toContain(lost[0]!.reason.code)
    expect((await chat.events()).filter(({ type }) => type === 'superseded')).toHaveLength(1)
  })
})

overStores('a turn that is tried again', (story) => {
  test('has the messages, the options and the data of the turn, and acts for the caller', async () => {
    const { runtime, chat } = desk(story)
    const turn = await chat.send('one', { maxSteps: 3, data: { page: 'orders' } })
    await turn.outcome()
    const bob = runtime.as(createScope({ user: 'bob' })).conversation('c1')
    const again = await bob.retry()
    expect((await again.outcome()).status).toBe('completed')
    const said = (await chat.events()).flatMap((event) => (event.type === 'user_msg' ? [event.content] : []))
    expect(said).toHaveLength(2)
    expect(said[1]).toEqual({ ...said[0], turnId: again.turnId, who: 'bob' })
    expect(said.map(({ who }) => who)).toEqual(['ann', 'bob'])
  })

  test('is refused when a later turn, which it would withdraw too, may have had an effect', async () => {
    const { chat, say, refunds } = desk(story)
    const first = await say('just say hello')
    await say('refund it')
    await expect(chat.retry(first.turnId)).rejects.toMatchObject({ code: 'force_needed' })
    await expect(chat.send('hi', { replaces: first.turnId })).rejects.toMatchObject({ code: 'force_needed' })
    expect(refunds).toEqual(['o-17'])
  })

  test('takes the place of the turn that is named, and runs tools again that say so', async () => {
    const { chat, say, lookups, texts } = desk(story)
    const first = await say('what of my order?')
    await say('thanks')
    const again = await chat.retry(first.turnId)
    await again.outcome()
    expect(lookups).toEqual(['o-17', 'o-17'])
    expect(await texts()).toHaveLength(3)
    expect((await chat.view()).messages[0]).toMatchObject({ turnId: again.turnId, variants: 2 })
  })

  test('is refused past a call that may have had an effect, unless it is forced; then the model is told', async () => {
    const { chat, say, refunds, model } = desk(story)
    const first = await say('refund it')
    await say('thanks')
    const log = await chat.events()
    const { calls } = (await chat.retry(first.turnId).catch((error: unknown) => error)) as { calls: unknown }
    expect(calls).toEqual([{ callId: expect.any(String), tool: 'refund' }])
    await expect(chat.retry(first.turnId)).rejects.toMatchObject({ code: 'force_needed' })
    await expect(chat.send('no, thanks', { replaces: first.turnId })).rejects.toMatchObject({ code: 'force_needed' })
    expect(refunds).toEqual(['o-17'])
    expect(await chat.events()).toEqual(log)
    await say('just say hello', { replaces: first.turnId, force: true })
    const prompt = linesOf(model.calls.at(-1)!.prompt)
    expect(prompt).toHaveLength(2)
    expect(prompt[0]).toContain('- refund({"order":"o-17"}): done, with the result "refunded"')
    expect(prompt[1]).toBe('user: just say hello')
    // What an earlier variant did counts for the next one, too.
    await expect(chat.retry()).rejects.toMatchObject({ code: 'force_needed' })
    expect(refunds).toEqual(['o-17'])
  })

  test('asks again for an approval, and says that the same was done in the earlier variant', async () => {
    const { chat, refunds, runtime, waiting } = desk(story, { approval: true })
    const first = await chat.send('refund it')
    await chat.approve(await onlyPendingOf(first))
    await first.outcome()
    const { callId } = (await chat.events()).flatMap((event) => (event.type === 'tool_call' ? [event.content] : []))[0]!
    const again = await chat.retry(undefined, { force: true })
    const item = await onlyPendingOf(again)
    expect(item.doneBefore).toEqual({ callId, outcome: 'done' })
    expect((await chat.view()).pending[0]!.doneBefore).toEqual(item.doneBefore)
    const told = { callId: item.callId, doneBefore: item.doneBefore }
    const { questions, items } = await toldOverHttp(runtime, 'desk', 'c1')
    expect([await runtime.inbox(), items, questions.slice(-1)]).toMatchObject([[told], [told], [told]])
    await vi.waitFor(() => expect(waiting.slice(1)).toMatchObject([told]), { timeout: 10_000 })
    expect(waiting[0]).not.toHaveProperty('doneBefore')
    await chat.deny(item)
    await again.outcome()
    expect(refunds).toEqual(['o-17'])
  })

  test('does not say that a call was done before which was denied', async () => {
    const { chat, refunds } = desk(story, { approval: true })
    const first = await chat.send('refund it')
    await chat.deny(await onlyPendingOf(first))
    await first.outcome()
    const again = await chat.retry()
    expect(await onlyPendingOf(again)).not.toHaveProperty('doneBefore')
    expect(refunds).toEqual([])
  })

  test('may be tried again after it failed or was cancelled', async () => {
    const { chat, say, texts } = desk(story, { approval: true })
    await say('one')
    const waiting = await chat.send('refund it')
    await onlyPendingOf(waiting)
    await chat.cancel()
    const again = await chat.retry()
    const item = await onlyPendingOf(again)
    expect(item).not.toHaveProperty('doneBefore')
    expect(await texts()).toHaveLength(4)
  })

  test('can be told after it was replaced, and its outcome stays', async () => {
    const { chat, say } = desk(story)
    const first = await say('one')
    const outcome = await first.outcome()
    await say('two', { replaces: first.turnId })
    expect(await chat.turn(first.turnId).outcome()).toEqual(outcome)
  })
})

overStores('older variants', (story) => {
  test('are reached by a fork where the variant before ends, and the fork goes on from there', async () => {
    const { chat, say, model } = desk(story)
    await say('one')
    const second = await say('two')
    const third = await say('three', { replaces: second.turnId })
    await say('four', { replaces: third.turnId })
    const message = (await chat.view()).messages.find(({ role, turnId }) => role === 'user' && turnId !== second.turnId)
    expect(message).toBeDefined()
    const newest = (await chat.view()).messages.findLast(({ role }) => role === 'user') as { previousSeq: number }
    const fork = await chat.fork({ at: newest.previousSeq })
    const forked = (await fork.view()).messages.findLast(({ role }) => role === 'user')
    expect(forked).toMatchObject({ turnId: third.turnId, variants: 2 })
    const oldest = await fork.fork({ at: (forked as { previousSeq: number }).previousSeq })
    const shown = (await oldest.view()).messages.findLast(({ role }) => role === 'user')
    expect(shown).toMatchObject({ turnId: second.turnId })
    expect(shown).not.toHaveProperty('variants')
    await (await oldest.send('five')).outcome()
    expect(linesOf(model.calls.at(-1)!.prompt).map((line) => line.split(': ')[1])).toEqual(
      expect.arrayContaining(['one', 'two', 'five']),
    )
  })

  test('leave nothing behind in a fork that is cut between the mark and its message', async () => {
    const { chat, say, model } = desk(story)
    const first = await say('what of my order?')
    const cut = (await chat.events()).length + 1
    await say('hello', { replaces: first.turnId })
    const fork = await chat.fork({ at: cut })
    expect((await fork.view()).messages).toEqual([])
    await (await fork.send('and now?')).outcome()
    const prompt = linesOf(model.calls.at(-1)!.prompt)
    expect(prompt).toHaveLength(2)
    expect(prompt[0]).toContain('- lookup(')
  })
})

overStores('the history of a conversation with replaced turns', (story) => {
  test('counts shown turns, leaves withdrawn ones out, keeps notes, and says how many variants there are', async () => {
    const { chat, say } = desk(story)
    await say('one')
    const second = await say('two')
    await chat.note('rated', { stars: 2 })
    await say('three')
    const edited = await say('two, edited', { replaces: second.turnId })
    await say('two, edited twice', { replaces: edited.turnId })
    await say('four')
    const texts = (page: Awaited<ReturnType<typeof chat.history>>) =>
      page.messages.flatMap((message) => (message.role === 'user' ? [(message.parts[0] as { text: string }).text] : []))
    expect(texts(await chat.history())).toEqual(['one', 'two, edited twice', 'four'])
    const newest = await chat.history({ limit: 2 })
    expect(texts(newest)).toEqual(['two, edited twice', 'four'])
    const seqs = (await chat.view()).messages.map(({ seq }) => seq)
    expect(newest.messages[0]).toMatchObject({ variants: 3, seq: seqs[2] })
    expect(newest.messages[2]).not.toHaveProperty('variants')
    const older = await chat.history({ limit: 2, before: newest.before! })
    expect(texts(older)).toEqual(['one'])
    expect(older.before).toBeNull()
    expect([...older.notes, ...newest.notes].map(({ name }) => name)).toEqual(['rated'])
    expect((await chat.history()).messages).toEqual((await chat.view()).messages)
    const small = await chat.history({ maxBytes: 400 })
    expect(texts(small).every((text) => text !== 'three' && text !== 'two')).toBe(true)
  })

  test('keeps a turn whole that went on while a replaced one was queued', async () => {
    const { chat } = desk(story, { approval: true })
    const first = await chat.send('refund it')
    const item = await onlyPendingOf(first)
    const queued = await chat.send('then this', { whenBusy: 'queue' })
    await chat.approve(item)
    await first.outcome()
    await queued.outcome()
    await (await chat.send('then that', { replaces: queued.turnId })).outcome()
    const { messages } = await chat.history()
    expect(messages).toEqual((await chat.view()).messages)
    expect(messages.filter(({ turnId }) => turnId === first.turnId)).toHaveLength(3)
    expect(messages.some(({ turnId }) => turnId === queued.turnId)).toBe(false)
  })
})
