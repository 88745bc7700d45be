import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

function bank(expiresInMs: number) {
  const runs: unknown[] = []
  const transfer = defineTool({
    name: 'transfer',
    description: 'Move money',
    input: z.object({}),
    approval: 'required',
    expiresInMs,
    run: (args) => void runs.push(args),
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Too late.' : { calls: [{ tool: 'transfer', args: {} }] },
  )
  return { agent: defineAgent({ name: 'bank', model, tools: [transfer] }), model, runs }
}

const expired = { type: 'error-text', value: 'tool call expired: no response' }

/** The end of a turn that waits for a deadline, however long that takes. */
async function untilEnded(turn: { outcome(): Promise<{ status: string }> }) {
  return until(async () => {
    const outcome = await turn.outcome()
    return outcome.status === 'waiting' ? null : outcome
  })
}

overStores('a call that is not answered in time', (story) => {
  test('expires by itself, and the turn goes on', async () => {
    const { agent, model, runs } = bank(100)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'bank' })
    const turn = await chat.send('move it')
    const call = await onlyPendingOf(turn)
    expect(call.expiresAt).toBeGreaterThan(0)
    expect(await untilEnded(turn)).toMatchObject({ status: 'completed', text: 'Too late.' })
    expect(runs).toEqual([])
    expect(toolResults(model, 2)).toEqual([['transfer', expired]])
    const [resolution] = (await chat.events()).filter((event) => event.type === 'resolution')
    expect(resolution).toMatchObject({ content: { status: 'expired', who: 'system' } })
    expect(resolution!.at).toBeGreaterThanOrEqual(call.expiresAt!)
  })

  test('an answer that comes too late is told so', async () => {
    const { agent, runs } = bank(100)
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'bank' })
    const turn = await chat.send('move it')
    const call = await onlyPendingOf(turn)
    await untilEnded(turn)
    expect(await chat.approve(call)).toEqual({
      accepted: false,
      resolution: {
        status: 'expired',
        value: { ok: false, error: 'tool call expired: no response' },
        who: 'system',
        at: expect.any(Number),
      },
    })
    expect(runs).toEqual([])
  })

  test('an answer that comes in time takes the deadline away', async () => {
    const { agent, runs } = bank(600)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'bank' })
    const turn = await chat.send('move it')
    const call = await onlyPendingOf(turn)
    expect(await chat.approve(call)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    await sleep(Math.max(0, call.expiresAt! + 50 - Date.now()))
    expect(runs).toHaveLength(1)
    expect((await chat.events()).filter((event) => event.type === 'resolution')).toHaveLength(1)
  })

  test('expires in its second round too: the client that was to run it never answered', async () => {
    const fill = defineTool({
      name: 'fill',
      description: 'Fill in a form',
      executor: 'client',
      approval: 'required',
      expiresInMs: 2_000,
      input: z.object({}),
      output: z.string(),
    })
    const model = scriptedModel(({ n }) => (n === 1 ? { calls: [{ tool: 'fill', args: {} }] } : 'Too late.'))
    const agent = defineAgent({ name: 'browser', model, tools: [fill] })
    const runtime = story.start({ agents: [agent] })
    const chat = runtime.conversation('c1', { agent: 'browser' })
    const turn = await chat.send('fill it in')
    await chat.approve(await onlyPendingOf(turn))
    const second = await onlyPendingOf(turn)
    expect(second).toMatchObject({ round: 2, kind: 'client_exec' })
    // Its own deadline, brought forward so that the story does not take as long.
    await runtime.store.scheduleExpiry('c1', second.callId, 20)
    expect(await untilEnded(turn)).toMatchObject({ status: 'completed', text: 'Too late.' })
    expect(toolResults(model, 2)).toEqual([['fill', expired]])
    expect(await chat.answer(second, { ok: true, result: 'ok' })).toMatchObject({
      accepted: false,
      resolution: { status: 'expired' },
    })
  })

  test('expires also while no process is alive: the next process finds it expired and continues', async (context) => {
    if (story.name === 'memory') context.skip('nothing outlives the process')
    const before = bank(150)
    const data = story.openStore()
    const runtime = story.start({ agents: [before.agent], store: data })
    const turn = await runtime.conversation('c1', { agent: 'bank' }).send('move it')
    const call = await onlyPendingOf(turn)
    await runtime.close()
    await data.close()
    await sleep(Math.max(0, call.expiresAt! + 20 - Date.now()))

    const after = bank(150)
    const chat = story.start({ agents: [after.agent], store: story.reopen(data) }).conversation('c1')
    expect(await untilEnded(chat.turn(turn.turnId))).toMatchObject({ status: 'completed', text: 'Too late.' })
    expect([before.runs, after.runs]).toEqual([[], []])
    expect(toolResults(after.model, 1)).toEqual([['transfer', expired]])
    expect(await chat.approve(call)).toMatchObject({ accepted: false, resolution: { status: 'expired' } })
  })

  test('expires while only a node that runs nothing is alive, and a working one goes on from there', async () => {
    const { agent, model } = bank(100)
    const data = story.openStore()
    const runtime = story.start({ agents: [agent], store: data })
    const turn = await runtime.conversation('c1', { agent: 'bank' }).send('move it')
    await onlyPendingOf(turn)
    await runtime.close()
    story.start({ agents: [agent], store: story.reopen(data), work: false })
    await until(async () => (await data.streamEvents('c1')).some((event) => event.type === 'resolution'))
    expect(model.calls).toHaveLength(1)

    const chat = story.start({ agents: [agent], store: story.reopen(data) }).conversation('c1')
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
  })
})
