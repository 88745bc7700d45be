import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'

function supportAgent() {
  const runs: { orderId: string; cents: number; for: string | undefined; by: string | undefined }[] = []
  const refund = defineTool({
    name: 'refund',
    description: 'Pay an order back',
    input: z.object({ orderId: z.string(), cents: z.number().int() }),
    approval: 'required',
    run: async ({ orderId, cents }, turn) => {
      runs.push({ orderId, cents, for: turn.scope.user, by: turn.approval?.who })
      return { paid: cents }
    },
  })
  const model = scriptedModel(({ n }) =>
    n === 1 ? { calls: [{ tool: 'refund', args: { orderId: 'o1', cents: 500 } }] } : 'Done.',
  )
  return { agent: defineAgent({ name: 'support', model, tools: [refund] }), runs, model }
}

overStores('a tool that needs approval', (story) => {
  test('an approved call runs once, for the sender, and is told who approved', async () => {
    const { agent, runs } = supportAgent()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime
      .as(createScope({ user: 'ann' }))
      .conversation('c1', { agent: 'support' })
      .send('refund me')
    const waiting = await turn.outcome()
    if (waiting.status !== 'waiting') throw new Error(`expected to wait, but ${waiting.status}`)
    expect(waiting.pending).toMatchObject([
      { tool: 'refund', kind: 'approval', round: 1, args: { orderId: 'o1', cents: 500 } },
    ])
    expect(runs).toEqual([])

    const boss = runtime.as(createScope({ user: 'boss' })).conversation('c1')
    expect(await boss.approve(waiting.pending[0]!)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(runs).toEqual([{ orderId: 'o1', cents: 500, for: 'ann', by: 'boss' }])
  })

  test('a second answer learns who won, when and with what', async () => {
    const { agent, runs } = supportAgent()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'support' }).send('refund me')
    const waiting = await turn.outcome()
    if (waiting.status !== 'waiting') throw new Error(`expected to wait, but ${waiting.status}`)
    const [call] = waiting.pending
    const answers = await Promise.all([
      runtime
        .as(createScope({ user: 'ann' }))
        .conversation('c1')
        .approve(call!),
      runtime
        .as(createScope({ user: 'bob' }))
        .conversation('c1')
        .deny(call!, { reason: 'too much' }),
    ])
    expect(answers.filter((answer) => answer.accepted)).toHaveLength(1)
    const loser = answers.find((answer) => !answer.accepted)
    const winner = answers[0]?.accepted
      ? { status: 'resolved', value: true, who: 'ann' }
      : { status: 'denied', value: { reason: 'too much' }, who: 'bob' }
    expect(loser).toMatchObject({ accepted: false, resolution: { ...winner, at: expect.any(Number) } })
    await turn.outcome()
    expect(runs).toHaveLength(answers[0]?.accepted ? 1 : 0)
  })
})
