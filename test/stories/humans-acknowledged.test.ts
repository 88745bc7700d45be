import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 20_000 })

/** An agent that looks something up, which takes long, and asks for leave to pay. */
function office(tools: readonly ('look_up' | 'pay')[]) {
  const lookedUp = gate()
  const finish = gate<string>()
  const paid = gate()
  const lookUp = defineTool({
    name: 'look_up',
    description: 'Look up',
    input: z.object({}),
    run: () => {
      lookedUp.open()
      return finish.opened
    },
  })
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({}),
    approval: 'required',
    run: () => {
      paid.open()
      return finish.opened
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: tools.map((tool) => ({ tool, args: {} })) },
  )
  return { agent: defineAgent({ name: 'office', model, tools: [lookUp, pay] }), model, lookedUp, paid, finish }
}

overStores('an answer', (story) => {
  test('is acknowledged when it is in the log, before anything follows from it', async () => {
    const { agent, model, paid, finish } = office(['pay'])
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'office' })
    const turn = await chat.send('pay')
    expect(await chat.approve(await onlyPendingOf(turn))).toEqual({ accepted: true })
    expect((await chat.events()).some((event) => event.type === 'resolution')).toBe(true)
    await paid.opened
    expect(model.calls).toHaveLength(1)
    finish.open('paid')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
  })

  test('is noticed by the process that has the conversation also when nothing tells it', async () => {
    const { agent, lookedUp, paid, finish } = office(['look_up', 'pay'])
    const data = story.openStore()
    const deaf = mortalStore(data)
    const worker = story.start({ agents: [agent], store: deaf.store, leaseMs: 600 })
    const front = story.start({ agents: [agent], store: story.reopen(data), work: false })
    await worker.conversation('c1', { agent: 'office' }).send('go')
    await lookedUp.opened
    deaf.deafen()
    const [item] = await until(async () => {
      const inbox = await front.inbox()
      return inbox.length > 0 ? inbox : null
    })
    expect(await front.resolve('c1', { callId: item!.callId, round: 1 }, true)).toEqual({ accepted: true })
    await paid.opened
    finish.open('done')
    expect(await front.conversation('c1').outcome()).toMatchObject({ status: 'completed' })
  })

  test('to stop is noticed without a hint too', async () => {
    const { agent, lookedUp } = office(['look_up'])
    const data = story.openStore()
    const deaf = mortalStore(data)
    const worker = story.start({ agents: [agent], store: deaf.store, leaseMs: 600 })
    const other = story.start({ agents: [agent], store: story.reopen(data), work: false })
    await worker.conversation('c1', { agent: 'office' }).send('go')
    await lookedUp.opened
    deaf.deafen()
    expect(await other.conversation('c1').cancel()).toMatchObject({ status: 'cancelled' })
  })
})
