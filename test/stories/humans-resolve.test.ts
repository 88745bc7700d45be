import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { pendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

function office() {
  const runs: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    run: (args, { approval }) => {
      runs.push({ ...args, by: approval?.who })
      return 'paid'
    },
  })
  const ask = defineTool({
    name: 'ask',
    description: 'Ask',
    executor: 'human',
    input: z.object({}),
    output: z.boolean(),
  })
  const locate = defineTool({
    name: 'locate',
    description: 'Locate',
    executor: 'client',
    input: z.object({}),
    output: z.string(),
  })
  const calls = [
    { tool: 'pay', args: { cents: 1 } },
    { tool: 'ask', args: {} },
    { tool: 'locate', args: {} },
  ]
  const model = scriptedModel(({ prompt }) => (prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls }))
  return { agent: defineAgent({ name: 'office', model, tools: [pay, ask, locate] }), model, runs }
}

overStores('runtime.resolve', (story) => {
  test('answers each kind of call with what fits it, from anywhere and for any scope', async () => {
    const { agent, model, runs } = office()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'office' }).send('go')
    const [pay, ask, locate] = await pendingOf(turn)
    const boss = runtime.as(createScope({ user: 'boss' }))
    expect(await boss.resolve('c1', ask!, false)).toEqual({ accepted: true })
    expect(await boss.resolve('c1', locate!.callId, { ok: true, result: 'Oslo' })).toEqual({ accepted: true })
    expect(await boss.resolve('c1', { callId: pay!.callId, round: 1 }, true)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([{ cents: 1, by: 'boss' }])
    expect(toolResults(model, 2).map(([, output]) => output)).toEqual([
      { type: 'text', value: 'paid' },
      { type: 'json', value: false },
      { type: 'text', value: 'Oslo' },
    ])
    expect(await boss.resolve('c1', pay!, false)).toMatchObject({ accepted: false, resolution: { value: true } })
  })

  test.each([
    ['false', false, 'tool call denied'],
    ['{ approved: false, reason }', { approved: false, reason: 'broke' }, 'tool call denied: broke'],
  ])('denies an approval with %s', async (_, value, told) => {
    const { agent, model, runs } = office()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'office' }).send('go')
    const [pay, ask, locate] = await pendingOf(turn)
    await runtime.resolve('c1', ask!, true)
    await runtime.resolve('c1', locate!, { ok: false, error: 'off' })
    expect(await runtime.resolve('c1', pay!, value)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([])
    expect(toolResults(model, 2)[0]).toEqual(['pay', { type: 'error-text', value: told }])
  })

  test('approves with changed arguments, which are checked', async () => {
    const { agent, runs } = office()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'office' }).send('go')
    const [pay, ask, locate] = await pendingOf(turn)
    await runtime.resolve('c1', ask!, true)
    await runtime.resolve('c1', locate!, { ok: true, result: 'x' })
    const invalid = { code: 'invalid_answer' }
    await expect(runtime.resolve('c1', pay!, { approved: true, args: { cents: 'x' } })).rejects.toMatchObject(invalid)
    expect(await runtime.resolve('c1', pay!, { approved: true, args: { cents: 2 } })).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([{ cents: 2, by: 'system' }])
  })

  test('takes nothing for a yes or a no that is neither, and checks every other answer too', async () => {
    const { agent, runs } = office()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'office' }).send('go')
    const [pay, ask, locate] = await pendingOf(turn)
    for (const value of ['yes', 1, 0, '', null, undefined, {}, { approved: 'true' }, []]) {
      await expect(runtime.resolve('c1', pay!, value)).rejects.toMatchObject({ code: 'invalid_answer' })
    }
    await expect(runtime.resolve('c1', ask!, 'yes')).rejects.toMatchObject({ code: 'invalid_answer' })
    await expect(runtime.resolve('c1', locate!, 'Oslo')).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await pendingOf(turn)).toHaveLength(3)
    expect(runs).toEqual([])
  })

  test('is the only verb for every kind: approve and deny refuse questions, and answer refuses approvals', async () => {
    const { agent, runs } = office()
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'office' })
    const turn = await chat.send('go')
    const [pay, ask, locate] = await pendingOf(turn)
    const refused = { code: 'invalid_answer' }
    for (const value of [true, { approved: true }])
      await expect(chat.answer(pay as never, value)).rejects.toMatchObject(refused)
    for (const call of [ask, locate]) {
      await expect(chat.approve(call as never)).rejects.toMatchObject(refused)
      await expect(chat.deny(call as never)).rejects.toMatchObject(refused)
    }
    expect(await pendingOf(turn)).toHaveLength(3)
    expect(runs).toEqual([])
  })

  test('knows only calls of the conversation that is named', async () => {
    const { agent } = office()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.conversation('c1', { agent: 'office' }).send('go')
    const [pay] = await pendingOf(turn)
    await runtime.conversation('c2', { agent: 'office' }).send('go')
    for (const id of ['c2', 'c3']) {
      await expect(runtime.resolve(id, pay!, true)).rejects.toMatchObject({ code: 'call_not_found' })
    }
    await expect(runtime.resolve('c1', 'nothing', true)).rejects.toMatchObject({ code: 'call_not_found' })
    expect(await pendingOf(turn)).toHaveLength(3)
  })
})
