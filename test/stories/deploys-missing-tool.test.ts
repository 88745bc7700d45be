import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Tool } from '../../src/define/tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolCalls, toolResults } from './tool-results.ts'

vi.setConfig({ testTimeout: 20_000 })

const input = z.object({ cents: z.number() })
const description = 'Pay'

/** The agent as one version of the code has it. */
function version(tools: readonly Tool[]) {
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'I see.' : { calls: [{ tool: 'pay', args: { cents: 5 } }] },
  )
  return { agent: defineAgent({ name: 'till', model, tools }), model }
}

const gated = defineTool({ name: 'pay', description, input, approval: 'required', run: () => 'paid' })

overStores('a tool that is gone after a deploy', (story) => {
  test('is an error result when its approved call would run, and the turn goes on', async () => {
    const data = story.openStore()
    const before = story.start({ agents: [version([gated]).agent], store: data })
    const turn = await before.conversation('c1', { agent: 'till' }).send('pay')
    const call = await onlyPendingOf(turn)
    await before.close()

    const { agent, model } = version([])
    const runtime = story.start({ agents: [agent], store: story.reopen(data), missingToolMs: 0 })
    expect(await runtime.inbox()).toMatchObject([{ callId: call.callId, agentMissing: false }])
    const chat = runtime.conversation('c1')
    expect(await chat.approve(call)).toEqual({ accepted: true })
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed', text: 'I see.' })
    expect(toolResults(model, 1)).toEqual([
      ['pay', { type: 'error-text', value: "The tool 'pay' is no longer there. It was not run." }],
    ])
    expect(toolCalls(model, 1)).toEqual([['pay', { cents: 5 }]])
  })

  test('that has another executor now is an error result too', async () => {
    const data = story.openStore()
    const before = story.start({ agents: [version([gated]).agent], store: data })
    const turn = await before.conversation('c1', { agent: 'till' }).send('pay')
    const call = await onlyPendingOf(turn)
    await before.close()

    const onClient = defineTool({ name: 'pay', description, input, executor: 'client', output: z.string() })
    const { agent, model } = version([onClient])
    const chat = story.start({ agents: [agent], store: story.reopen(data), missingToolMs: 0 }).conversation('c1')
    await chat.approve(call)
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 1)).toEqual([
      [
        'pay',
        { type: 'error-text', value: "The tool 'pay' is no longer run on the server but by 'client'. It was not run." },
      ],
    ])
  })

  test('whose arguments have another shape now is not run with the old ones', async () => {
    const data = story.openStore()
    const before = story.start({ agents: [version([gated]).agent], store: data })
    const turn = await before.conversation('c1', { agent: 'till' }).send('pay')
    const call = await onlyPendingOf(turn)
    await before.close()

    const runs: unknown[] = []
    const changed = defineTool({
      name: 'pay',
      description,
      input: z.object({ cents: z.number(), currency: z.string() }),
      approval: 'required',
      run: (args) => void runs.push(args),
    })
    const { agent, model } = version([changed])
    const chat = story.start({ agents: [agent], store: story.reopen(data), missingToolMs: 0 }).conversation('c1')
    await chat.approve(call)
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([])
    expect(toolResults(model, 1)).toMatchObject([
      ['pay', { type: 'error-text', value: expect.stringContaining("invalid arguments for 'pay': currency") }],
    ])
  })

  test('while it ran may have taken effect, and is not said to have done nothing', async () => {
    const started = gate()
    const hanging = defineTool({
      name: 'pay',
      description,
      input,
      ifInterrupted: 'rerun',
      run: () => {
        started.open()
        return new Promise(() => {})
      },
    })
    const data = story.openStore()
    const before = story.start({ agents: [version([hanging]).agent], store: data })
    const turn = await before.conversation('c1', { agent: 'till' }).send('pay')
    await started.opened
    await before.close({ drainMs: 0 })

    const { agent, model } = version([])
    const chat = story.start({ agents: [agent], store: story.reopen(data), missingToolMs: 0 }).conversation('c1')
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    const [[, output] = []] = toolResults(model, 1)
    expect(output).toMatchObject({ type: 'error-text', value: expect.stringContaining('may have taken effect') })
    expect(output).toMatchObject({ value: expect.stringContaining('(outcome: unknown)') })
  })

  test('a question whose tool is gone is still answered, by the schema it was asked with', async () => {
    const ask = defineTool({
      name: 'pay',
      description,
      input,
      executor: 'human',
      output: z.object({ ok: z.boolean() }),
    })
    const data = story.openStore()
    const before = story.start({ agents: [version([ask]).agent], store: data })
    const turn = await before.conversation('c1', { agent: 'till' }).send('pay')
    const call = await onlyPendingOf(turn)
    await before.close()

    const { agent, model } = version([])
    const chat = story.start({ agents: [agent], store: story.reopen(data), missingToolMs: 0 }).conversation('c1')
    await expect(chat.answer(call, { ok: 'maybe' })).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await chat.answer(call, { ok: true })).toEqual({ accepted: true })
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 1)).toEqual([['pay', { type: 'json', value: { ok: true } }]])
  })
})
