import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

vi.setConfig({ testTimeout: 30_000 })

function shop() {
  const runs: string[] = []
  const order = defineTool({
    name: 'order',
    description: 'Order',
    input: z.object({ item: z.string() }),
    approval: 'required',
    run: ({ item }, { approval }) => {
      runs.push(`${item}, approved by ${approval?.who}`)
      return 'ordered'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool')
      ? 'Ordered.'
      : { calls: [{ tool: 'order', args: { item: 'ink' } }] },
  )
  return { agent: defineAgent({ name: 'shop', model, tools: [order] }), runs, model }
}

const restoreScope = (_: string, user: string) => createScope({ user })

/** A call that waits, in a store without a worker. */
async function parked(story: StoryContext) {
  const { agent, runs } = shop()
  const data = story.openStore()
  const runtime = story.start({ agents: [agent], store: data })
  const turn = await runtime.conversation('c1', { agent: 'shop' }).send('order ink')
  const call = await onlyPendingOf(turn)
  await runtime.close()
  expect(runs).toEqual([])
  return { data, call, turnId: turn.turnId, agent }
}

overStores('an answer given while no process works', (story) => {
  test('is acknowledged by a node that runs nothing, and the next worker goes on with it exactly once', async () => {
    const { data, call, turnId, agent } = await parked(story)
    const office = story.start({ agents: [agent], store: story.reopen(data), work: false })
    const boss = office.as(createScope({ user: 'boss' })).conversation('c1')
    expect(await boss.approve(call)).toEqual({ accepted: true })
    expect(await boss.approve(call)).toMatchObject({ accepted: false, resolution: { who: 'boss' } })
    expect((await boss.view()).phase).toBe('running')
    expect(await office.inbox()).toEqual([])

    const { agent: again, runs, model } = shop()
    const workers = [1, 2].map(() => story.start({ agents: [again], store: story.reopen(data), restoreScope }))
    expect(await workers[0]!.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual(['ink, approved by boss'])
    expect(toolResults(model, 1)).toEqual([['order', { type: 'text', value: 'ordered' }]])
  })

  test('is taken also by a node that does not have the agent, and waits there for one that does', async () => {
    const { data, call, turnId } = await parked(story)
    const webhook = story.start({ agents: [], store: story.reopen(data) })
    expect(await webhook.inbox()).toMatchObject([{ callId: call.callId, agent: 'shop', agentMissing: true }])
    expect(await webhook.as(createScope({ user: 'boss' })).resolve('c1', call, true)).toEqual({ accepted: true })

    const { agent, runs } = shop()
    const worker = story.start({ agents: [agent], store: story.reopen(data), restoreScope })
    expect(await worker.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual(['ink, approved by boss'])
  })

  test('reaches a worker in another process that is only waiting for work', async () => {
    const { data, call, turnId, agent } = await parked(story)
    const { agent: again, runs } = shop()
    const worker = story.start({ agents: [again], store: story.reopen(data), restoreScope })
    const office = story.start({ agents: [agent], store: story.reopen(data), work: false })
    expect(
      await office
        .as(createScope({ user: 'ann' }))
        .conversation('c1')
        .deny(call),
    ).toEqual({ accepted: true })
    expect(await worker.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(await office.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([])
  })

  test('is not lost when the process is closed right after it was acknowledged', async () => {
    const { data, call, turnId, agent } = await parked(story)
    const short = story.start({ agents: [agent], store: story.reopen(data), work: false })
    expect(await short.as(createScope({ user: 'ann' })).resolve('c1', call, true)).toEqual({ accepted: true })
    await short.close({ drainMs: 0 })
    const { agent: again, runs } = shop()
    const worker = story.start({ agents: [again], store: story.reopen(data), restoreScope })
    expect(await worker.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual(['ink, approved by ann'])
  })
})
