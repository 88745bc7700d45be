import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/agent/define-agent.ts'
import { createScope } from '../../src/scope/create-scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tool/define-tool.ts'
import type { ServerAttributes } from '../../src/tool/tool-attributes.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

const input = z.object({ cents: z.number().default(7) })

function till(approval: ServerAttributes<string, typeof input>['approval']) {
  const runs: number[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input,
    ...(approval === undefined ? {} : { approval }),
    run: ({ cents }) => void runs.push(cents),
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'pay', args: {} }] },
  )
  return { agent: defineAgent({ name: 'till', model, tools: [pay] }), runs }
}

overStores('whether a person has to agree', (story) => {
  test.each([
    ['by default', undefined],
    ["when approval is 'auto'", 'auto' as const],
    ['when the function says false', () => false],
    ['when the function says false later', async () => false],
  ])('nobody is asked %s', async (_, approval) => {
    const { agent, runs } = till(approval)
    const turn = await story
      .start({ agents: [agent] })
      .conversation('c1', { agent: 'till' })
      .send('pay')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([7])
  })

  test.each([
    ["when approval is 'required'", 'required' as const],
    ['when the function says true', () => true],
    ['when the function says true later', async () => true],
    ['when the function throws', () => Promise.reject(new Error('no idea'))],
    ['when the function says nothing', () => undefined as unknown as boolean],
    ['when the function says something else', () => 0 as unknown as boolean],
  ])('somebody is asked %s', async (_, approval) => {
    const { agent, runs } = till(approval)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'till' })
    const turn = await chat.send('pay')
    const call = await onlyPendingOf(turn)
    expect(call).toMatchObject({ tool: 'pay', kind: 'approval', prompt: 'Pay' })
    expect(runs).toEqual([])
    await chat.approve(call)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([7])
  })

  test('the function is given the checked arguments, who acts and the call', async () => {
    const asked: unknown[] = []
    const { agent } = till((args, turn) => {
      asked.push([args, turn.scope.user, turn.callId])
      return true
    })
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime
      .as(createScope({ user: 'ann' }))
      .conversation('c1', { agent: 'till' })
      .send('pay')
    const { callId } = await onlyPendingOf(turn)
    expect(asked).toEqual([[{ cents: 7 }, 'ann', callId]])
  })

  test('it is decided once: a later deploy does not change it for a call that waits', async () => {
    const data = story.openStore()
    const before = till('required')
    const runtime = story.start({ agents: [before.agent], store: data })
    const turn = await runtime.conversation('c1', { agent: 'till' }).send('pay')
    const call = await onlyPendingOf(turn)
    await runtime.close()

    let asked = 0
    const after = till(() => {
      asked += 1
      return false
    })
    const chat = story.start({ agents: [after.agent], store: story.reopen(data) }).conversation('c1')
    expect(await onlyPendingOf(chat.turn(turn.turnId))).toEqual(call)
    expect(await chat.approve(call)).toEqual({ accepted: true })
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect([before.runs, after.runs, asked]).toEqual([[], [7], 0])
  })
})
