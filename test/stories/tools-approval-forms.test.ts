import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool, type ServerAttributes } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf, pendingOf } from './pending-of.ts'

const input = z.object({ cents: z.number().default(7) })

type Approval = ServerAttributes<string, typeof input>['approval']

/** An agent with one such tool for each form, all of which the model calls at once. */
function till(forms: Record<string, Approval>) {
  const runs: string[] = []
  const names = Object.keys(forms)
  const tools = names.map((name) => {
    const approval = forms[name]
    const run = ({ cents }: { cents: number }) => void runs.push(`${name} ${cents}`)
    return defineTool({ name, description: 'Pay', input, ...(approval === undefined ? {} : { approval }), run })
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: names.map((tool) => ({ tool, args: {} })) },
  )
  return { agent: defineAgent({ name: 'till', model, tools }), runs }
}

overStores('whether a person has to agree', (story) => {
  test('no approval is requested by default, with auto, or when the function returns false', async () => {
    const { agent, runs } = till({
      by_default: undefined,
      auto: 'auto',
      a_function: () => false,
      an_async_function: async () => false,
    })
    const turn = await story
      .start({ agents: [agent] })
      .conversation('c1', { agent: 'till' })
      .send('pay')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs.toSorted()).toEqual(['a_function 7', 'an_async_function 7', 'auto 7', 'by_default 7'])
  })

  test('an approval is requested with required, when the function returns true, and whenever it is not clear', async () => {
    const forms = {
      required: 'required' as const,
      a_function: () => true,
      an_async_function: async () => true,
      failing: () => Promise.reject(new Error('no idea')),
      silent: () => undefined as unknown as boolean,
      unclear: () => 0 as unknown as boolean,
    }
    const { agent, runs } = till(forms)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'till' })
    const turn = await chat.send('pay')
    const pending = await pendingOf(turn)
    expect(pending.map(({ tool, kind, prompt }) => [tool, kind, prompt])).toEqual(
      Object.keys(forms).map((name) => [name, 'approval', 'Pay']),
    )
    expect(runs).toEqual([])
    for (const call of pending) await chat.approve(call)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs.toSorted()).toEqual(
      Object.keys(forms)
        .map((name) => `${name} 7`)
        .toSorted(),
    )
  })

  test('the function is given the checked arguments, who acts and the call', async () => {
    const asked: unknown[] = []
    const { agent } = till({
      pay: (args, turn) => {
        asked.push([args, turn.scope.user, turn.callId])
        return true
      },
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
    const before = till({ pay: 'required' })
    const runtime = story.start({ agents: [before.agent], store: data })
    const turn = await runtime.conversation('c1', { agent: 'till' }).send('pay')
    const call = await onlyPendingOf(turn)
    await runtime.close()

    let asked = 0
    const after = till({
      pay: () => {
        asked += 1
        return false
      },
    })
    const chat = story.start({ agents: [after.agent], store: story.reopen(data) }).conversation('c1')
    expect(await onlyPendingOf(chat.turn(turn.turnId))).toEqual(call)
    expect(await chat.approve(call)).toEqual({ accepted: true })
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect([before.runs, after.runs, asked]).toEqual([[], ['pay 7'], 0])
  })
})
