import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

vi.setConfig({ testTimeout: 20_000 })

function named(name: string) {
  const runs: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    run: (args) => {
      runs.push(args)
      return 'paid'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Paid.' : { calls: [{ tool: 'pay', args: { cents: 5 } }] },
  )
  return { agent: defineAgent({ name, model, tools: [pay] }), model, runs }
}

overStores('an agent that is gone after a deploy', (story) => {
  test('leaves its conversation parked and visible, and a process that has it continues there', async () => {
    const data = story.openStore()
    const before = story.start({ agents: [named('cashier').agent], store: data })
    const turn = await before.conversation('c1', { agent: 'cashier' }).send('pay')
    const call = await onlyPendingOf(turn)
    await before.close()

    const other = named('waiter')
    const without = story.start({ agents: [other.agent], store: story.reopen(data), pollMs: 20 })
    expect(await without.inbox()).toMatchObject([
      { callId: call.callId, conversationId: 'c1', agent: 'cashier', agentMissing: true },
    ])
    expect(await without.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'waiting' })
    expect(await without.conversation('c1').approve(call)).toEqual({ accepted: true })
    await expect(without.conversation('c1').send('hello?')).rejects.toMatchObject({
      code: 'agent_missing',
      message: expect.stringMatching(/'cashier'.*'c1'.*waiter/),
    })
    // Long enough for several looks at what is due.
    await sleep(100)
    expect((await without.conversation('c1').view()).phase).toBe('running')
    expect(other.model.calls).toEqual([])

    const back = named('cashier')
    const again = story.start({ agents: [back.agent], store: story.reopen(data) })
    expect(await again.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({
      status: 'completed',
      text: 'Paid.',
    })
    expect(back.runs).toEqual([{ cents: 5 }])
    expect(await without.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
  })

  test('does not hold up the conversations of other agents', async () => {
    const data = story.openStore()
    const office = story.start({ agents: [named('cashier').agent], store: data, work: false })
    for (const id of ['c1', 'c2', 'c3']) await office.conversation(id, { agent: 'cashier' }).send('pay')
    const runtime = story.start({ agents: [named('waiter').agent], store: story.reopen(data), maxConcurrentTurns: 1 })
    const turn = await runtime.conversation('d1', { agent: 'waiter' }).send('pay')
    await runtime.conversation('d1').approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(await runtime.conversations({ agent: 'cashier' })).toHaveLength(3)
  })

  test('is not replaced by another: a conversation belongs to the agent it was begun with', async () => {
    const data = story.openStore()
    const both = story.start({ agents: [named('cashier').agent, named('waiter').agent], store: data })
    const turn = await both.conversation('c1', { agent: 'cashier' }).send('pay')
    await onlyPendingOf(turn)
    await expect(both.conversation('c1', { agent: 'waiter' }).send('hi')).rejects.toMatchObject({
      code: 'agent_mismatch',
    })
  })
})
