import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

function till() {
  const runs: (string | undefined)[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({}),
    approval: 'required',
    run: (_, { scope }) => void runs.push(scope.user),
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'pay', args: {} }] },
  )
  return { agent: defineAgent({ name: 'till', model, tools: [pay] }), runs, model }
}

overStores('a double click', (story) => {
  test('runs the tool once; the second learns that the first had won, whether or not it is the same person', async () => {
    const { agent, runs } = till()
    const runtime = story.start({ agents: [agent] })
    const ann = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'till' })
    const turn = await ann.send('pay')
    const call = await onlyPendingOf(turn)
    const clicks = await Promise.all([ann.approve(call), ann.approve(call), ann.approve(call)])
    expect(clicks.filter(({ accepted }) => accepted)).toHaveLength(1)
    const losers = clicks.filter(({ accepted }) => !accepted)
    const won = { status: 'resolved', value: true, who: 'ann', at: expect.any(Number) }
    expect(losers).toEqual([won, won].map((resolution) => ({ accepted: false, resolution })))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual(['ann'])
    // Long after, it is still told.
    expect(await ann.approve(call)).toEqual({ accepted: false, resolution: won })
  })

  test('from two processes at once runs the tool once, and the loser learns by whom', async () => {
    const { agent, runs } = till()
    const data = story.openStore()
    const here = story.start({ agents: [agent], store: data })
    const there = story.start({
      agents: [agent],
      store: story.reopen(data),
      restoreScope: (_, user) => createScope({ user }),
    })
    const turn = await here.conversation('c1', { agent: 'till' }).send('pay')
    const call = await onlyPendingOf(turn)
    const ann = here.as(createScope({ user: 'ann' })).conversation('c1')
    const bob = there.as(createScope({ user: 'bob' })).conversation('c1')
    const answers = { ann: ann.approve(call), bob: bob.approve(call) }
    const told = { ann: await answers.ann, bob: await answers.bob }
    const winner = told.ann.accepted ? 'ann' : 'bob'
    const loser = winner === 'ann' ? 'bob' : 'ann'
    expect(told[winner]).toEqual({ accepted: true })
    expect(told[loser]).toMatchObject({ accepted: false, resolution: { who: winner, value: true } })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toHaveLength(1)
  })

  test('on a call that was cancelled meanwhile is told so', async () => {
    const { agent, runs } = till()
    const runtime = story.start({ agents: [agent] })
    const ann = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'till' })
    const turn = await ann.send('pay')
    const call = await onlyPendingOf(turn)
    expect(await ann.cancel()).toMatchObject({ status: 'cancelled' })
    expect(
      await runtime
        .as(createScope({ user: 'bob' }))
        .conversation('c1')
        .approve(call),
    ).toMatchObject({
      accepted: false,
      resolution: { status: 'cancelled', who: 'ann' },
    })
    expect(runs).toEqual([])
  })
})
