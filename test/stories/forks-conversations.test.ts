import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { LogEvent } from '../../src/log/events.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

/** Looks something up at once, pays with approval, and is done. Decides by what it sees, so that it can be asked in any fork. */
function cashier() {
  const paid: number[] = []
  const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => ({ balance: 7 }) })
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    run: ({ cents }) => {
      paid.push(cents)
      return { paid: cents }
    },
  })
  const model = scriptedModel(({ prompt }) => {
    const results = prompt
      .slice(prompt.findLastIndex(({ role }) => role === 'user'))
      .filter(({ role }) => role === 'tool')
    if (results.length === 0) return { calls: [{ tool: 'look', args: {} }] }
    return results.length === 1 ? { calls: [{ tool: 'pay', args: { cents: 7 } }] } : 'All done.'
  })
  return { agent: defineAgent({ name: 'cashier', model, tools: [look, pay] }), model, paid }
}

async function waitingForApproval(story: StoryContext) {
  const { agent, model, paid } = cashier()
  const runtime = story.start({ agents: [agent], pollMs: 20 })
  const chat = runtime.conversation('chat', { agent: 'cashier' })
  const turn = await chat.send('Pay what I owe')
  const call = await onlyPendingOf(turn)
  return { runtime, chat, turn, call, model, paid }
}

overStores('a fork of a conversation', (story) => {
  test('is a copy that does nothing until it is continued', async () => {
    const { chat, model } = await waitingForApproval(story)
    const calls = model.calls.length
    const fork = await chat.fork({ at: 1, id: 'fork' })
    expect(await fork.events()).toMatchObject([{ type: 'user_msg', seq: 1, conversationId: 'fork' }])
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(model.calls).toHaveLength(calls)
    await fork.continue()
    expect(await fork.outcome()).toMatchObject({ status: 'waiting', pending: [{ tool: 'pay' }] })
  })

  test('may be cut at every sequence number, and each goes on to an end of its own', async () => {
    const { runtime, chat, turn, call, paid } = await waitingForApproval(story)
    await chat.approve(call)
    await turn.outcome()
    const log = await chat.events()
    const record = await runtime.store.getConversation('chat')
    expect(paid).toEqual([7])
    for (let at = 0; at <= log.length; at++) {
      const fork = await chat.fork({ at, id: `fork-${at}` })
      const copied = await fork.events()
      expect(copied.slice(0, at).map(({ seq, type, at: time }) => [seq, type, time])).toEqual(
        log.slice(0, at).map(({ seq, type, at: time }) => [seq, type, time]),
      )
      await fork.continue()
      if (at === 0) continue
      let outcome = await fork.outcome()
      while (outcome.status === 'waiting') {
        await fork.approve(outcome.pending[0]!)
        outcome = await fork.outcome()
      }
      expect(outcome, `cut at ${at}`).toMatchObject({ status: 'completed', text: 'All done.' })
      expectWhole(await fork.events())
    }
    expect(await chat.events()).toEqual(log)
    expect(await runtime.store.getConversation('chat')).toEqual(record)
  })

  test('leaves its calls pending when the parent answers, and the other way round', async () => {
    const { chat, turn, call, paid } = await waitingForApproval(story)
    const fork = await chat.fork({ id: 'fork' })
    const [copy] = (await fork.view()).pending
    expect(copy).toMatchObject({ tool: 'pay', kind: 'approval' })
    expect(copy!.callId).not.toBe(call.callId)
    expect(await chat.approve(call)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect((await fork.view()).pending).toMatchObject([{ callId: copy!.callId }])

    const second = await fork.fork({ id: 'second' })
    const [other] = (await second.view()).pending
    expect(await fork.deny(copy!, { reason: 'not here' })).toEqual({ accepted: true })
    expect((await second.view()).pending).toMatchObject([{ callId: other!.callId }])
    expect(await second.approve(other!)).toEqual({ accepted: true })
    expect(await second.outcome()).toMatchObject({ status: 'completed' })
    expect(paid).toEqual([7, 7])
  })

  test('made in the middle of a tool finds it interrupted, while the parent goes on with it', async () => {
    const begun = gate()
    const finish = gate()
    const slow = defineTool({
      name: 'slow',
      description: 'Slow',
      input: z.object({}),
      run: async () => {
        begun.open()
        await finish.opened
        return 'finished'
      },
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.at(-1)?.role === 'tool'
        ? `It says ${JSON.stringify(prompt.at(-1)?.content)}`
        : { calls: [{ tool: 'slow', args: {} }] },
    )
    const agent = defineAgent({ name: 'worker', model, tools: [slow] })
    const runtime = story.start({ agents: [agent], pollMs: 20 })
    const chat = runtime.conversation('chat', { agent: 'worker' })
    const turn = await chat.send('Do it')
    await begun.opened
    const fork = await chat.fork({ id: 'fork' })
    expect((await fork.events()).at(-1)).toMatchObject({
      type: 'tool_result',
      content: { ok: false, outcome: 'unknown' },
    })
    await fork.continue()
    expect(await fork.outcome()).toMatchObject({ status: 'completed', text: expect.stringContaining('unknown') })
    finish.open()
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: expect.stringContaining('finished') })
  })

  test('keeps and lists where it came from', async () => {
    const { runtime, chat } = await waitingForApproval(story)
    const child = await chat.fork({ at: 3, id: 'child' })
    await chat.fork({ at: 1, id: 'sibling' })
    const grandchild = await child.fork({ at: 2, id: 'grandchild' })
    expect((await chat.forks()).map(({ id, parent }) => [id, parent]).toSorted()).toEqual([
      ['child', { id: 'chat', at: 3 }],
      ['sibling', { id: 'chat', at: 1 }],
    ])
    expect(await chat.forks({ limit: 1 })).toHaveLength(1)
    expect((await child.forks()).map(({ id }) => id)).toEqual(['grandchild'])
    expect((await runtime.conversations({ forkOf: 'child' })).map(({ id }) => id)).toEqual(['grandchild'])
    expect(await grandchild.lineage()).toEqual([
      { id: 'child', at: 2 },
      { id: 'chat', at: 3 },
    ])
    expect(await chat.lineage()).toEqual([])
    await child.delete()
    expect(await grandchild.lineage()).toEqual([{ id: 'child', at: 2 }])
    expect(await grandchild.events()).toHaveLength(2)
  })

  test('of nothing, past the end or onto something is refused', async () => {
    const { runtime, chat } = await waitingForApproval(story)
    await expect(runtime.conversation('nothing').fork()).rejects.toMatchObject({ code: 'conversation_not_found' })
    await expect(chat.fork({ at: 999 })).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(chat.fork({ id: 'chat' })).rejects.toMatchObject({ code: 'conversation_exists' })
    await expect(chat.fork({ agent: 'nobody' })).rejects.toMatchObject({ code: 'agent_missing' })
    expect(await runtime.conversations()).toHaveLength(1)
  })
})

/** No gap, and every call and turn has one end. */
function expectWhole(events: readonly LogEvent[]): void {
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  const ends = events.flatMap((event) => (event.type === 'tool_result' ? [event.content.callId] : []))
  expect(new Set(ends).size).toBe(ends.length)
  expect(events.filter(({ type }) => type === 'turn_ended')).toHaveLength(1)
}
