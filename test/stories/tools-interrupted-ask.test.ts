import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

vi.setConfig({ testTimeout: 30_000 })

const quick = { leaseMs: 200, pollMs: 20 }

function shop(isHanging: boolean, runs: (string | undefined)[], expiresInMs?: number) {
  const started = gate()
  const order = defineTool({
    name: 'order',
    description: 'Order something',
    input: z.object({ item: z.string() }),
    ifInterrupted: 'ask',
    prompt: ({ item }) => `Order ${item}`,
    ...(expiresInMs === undefined ? {} : { expiresInMs }),
    run: (_, { scope }) => {
      runs.push(scope.user)
      started.open()
      return isHanging ? new Promise(() => {}) : 'ordered'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'order', args: { item: 'ink' } }] },
  )
  return { agent: defineAgent({ name: 'shop', model, tools: [order] }), model, started }
}

/** A turn whose tool hung in a process that is dead, and the runtime that has found it. */
async function interrupted(story: StoryContext, expiresInMs?: number) {
  const runs: (string | undefined)[] = []
  const [first, second] = [shop(true, runs, expiresInMs), shop(false, runs, expiresInMs)]
  const data = story.openStore()
  const dying = mortalStore(data)
  const turn = await story
    .start({ agents: [first.agent], store: dying.store, ...quick })
    .as(createScope({ user: 'ann' }))
    .conversation('c1', { agent: 'shop' })
    .send('order ink')
  await first.started.opened
  dying.kill()
  const runtime = story.start({ agents: [second.agent], store: story.reopen(data), ...quick })
  const boss = runtime.as(createScope({ user: 'boss' })).conversation('c1', { agent: 'shop' })
  return { boss, runtime, turn: boss.turn(turn.turnId), model: second.model, runs }
}

overStores('a tool that was interrupted, where a person decides', (story) => {
  test('the person is asked what to do, and what was to be done', async () => {
    const { turn, runs } = await interrupted(story)
    expect(await onlyPendingOf(turn)).toMatchObject({
      tool: 'order',
      kind: 'recovery',
      round: 1,
      prompt: 'Order ink',
      args: { item: 'ink' },
    })
    expect(runs).toEqual(['ann'])
  })

  test("'rerun' runs it again, for the person whose turn it is", async () => {
    const { boss, turn, model, runs } = await interrupted(story)
    expect(await boss.answer(await onlyPendingOf(turn), 'rerun')).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual(['ann', 'ann'])
    expect(toolResults(model, 1)).toEqual([['order', { type: 'text', value: 'ordered' }]])
  })

  test("'report' tells the model that the outcome is unknown", async () => {
    const { boss, turn, model, runs } = await interrupted(story)
    expect(await boss.answer(await onlyPendingOf(turn), 'report')).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toHaveLength(1)
    expect(toolResults(model, 1)).toEqual([
      ['order', { type: 'error-text', value: expect.stringContaining('(outcome: unknown)') }],
    ])
  })

  test('a person who knows the result can say it, also when it is null', async () => {
    const { boss, turn, model, runs } = await interrupted(story)
    expect(await boss.answer(await onlyPendingOf(turn), { result: null })).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toHaveLength(1)
    expect(toolResults(model, 1)).toEqual([['order', { type: 'json', value: null }]])
  })

  test('anything else is refused, and so are the verbs of an approval', async () => {
    const { boss, turn } = await interrupted(story)
    const call = await onlyPendingOf(turn)
    for (const value of ['again', true, null, { results: 1 }, undefined]) {
      await expect(boss.answer(call, value)).rejects.toMatchObject({ code: 'invalid_answer' })
    }
    await expect(boss.approve(call)).rejects.toMatchObject({ code: 'invalid_answer' })
    await expect(boss.deny(call)).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await onlyPendingOf(turn)).toMatchObject({ kind: 'recovery' })
  })

  test('without a decision in time, the model reads that it may have taken effect', async () => {
    const { turn, model, runs } = await interrupted(story, 100)
    await vi.waitFor(async () => expect(await turn.outcome()).toMatchObject({ status: 'completed' }), 10_000)
    expect(runs).toHaveLength(1)
    expect(toolResults(model, 1)).toEqual([
      ['order', { type: 'error-text', value: 'tool call expired: no response (outcome: unknown)' }],
    ])
  })

  test('a runtime that is closed asks before it goes', async () => {
    const runs: (string | undefined)[] = []
    const { agent, started } = shop(true, runs)
    const data = story.openStore()
    const runtime = story.start({ agents: [agent], store: data })
    await runtime.conversation('c1', { agent: 'shop' }).send('order ink')
    await started.opened
    await runtime.close({ drainMs: 0 })
    expect(await data.pendingInbox()).toMatchObject([{ name: 'order', kind: 'recovery', conversationId: 'c1' }])
  })
})
