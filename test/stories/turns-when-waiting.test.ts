import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { untilState } from '../../src/testing/fake-clock.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { linesOf, shapeOf } from './texts.ts'

overStores('a message to a conversation that waits for an answer', (story) => {
  async function waiting() {
    const model = pacedModel()
    const runs: string[] = []
    const pay = defineTool({
      name: 'pay',
      description: 'Pay',
      input: z.object({}),
      approval: 'required',
      run: () => void runs.push('pay'),
    })
    const agent = defineAgent({ name: 'clerk', model, tools: [pay] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'clerk' })
    const turn = await chat.send('pay me')
    const call = await model.called(1)
    call.call('pay', {})
    call.finish()
    const { pending } = await untilState(chat, 'waiting')
    return { model, chat, turn, runs, pending: pending[0]! }
  }

  test('is refused unless it says otherwise, and what waits goes on waiting', async () => {
    const { chat, turn, pending } = await waiting()
    await expect(chat.send('well?')).rejects.toMatchObject({ code: 'conversation_busy', turnId: turn.turnId })
    expect((await chat.view()).pending).toEqual([pending])
  })

  test('queued, it comes after the answer', async () => {
    const { model, chat, turn, runs, pending } = await waiting()
    const queued = await chat.send('thanks', { whenBusy: 'queue' })
    expect(await turn.outcome()).toMatchObject({ status: 'waiting' })
    expect(await chat.approve(pending)).toEqual({ accepted: true })
    await model.answer(2, 'paid')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'paid' })
    await model.answer(3, 'welcome')
    expect(await queued.outcome()).toMatchObject({ status: 'completed', text: 'welcome' })
    expect(runs).toEqual(['pay'])
  })

  test('interrupting cancels the pending call, and a late answer learns of it', async () => {
    const { model, chat, turn, runs, pending } = await waiting()
    const next = await chat.send('never mind', { whenBusy: 'interrupt' })
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled' })
    await model.answer(2, 'fine')
    expect(await next.outcome()).toMatchObject({ status: 'completed', text: 'fine' })
    expect(await chat.approve(pending)).toMatchObject({ accepted: false, resolution: { status: 'cancelled' } })
    expect(runs).toEqual([])
    expect(shapeOf(await chat.events()).slice(3, 8)).toEqual([
      'suspension',
      'cancel_requested',
      'user_msg',
      'resolution cancelled',
      'turn_ended cancelled',
    ])
  })

  test('steering is read together with the result, once the call is answered', async () => {
    const { model, chat, turn, pending } = await waiting()
    const steering = await chat.send('in euros', { whenBusy: 'steer' })
    expect(steering.turnId).toBe(turn.turnId)
    expect(await turn.outcome()).toMatchObject({ status: 'waiting' })
    expect(model.calls).toHaveLength(1)
    await chat.approve(pending)
    const call = await model.called(2)
    expect(linesOf(call.prompt)).toEqual([
      'user: pay me',
      'assistant: [tool-call pay]',
      'tool: [tool-result pay]',
      'user: in euros',
    ])
    call.answer('paid in euros')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'paid in euros' })
  })
})
