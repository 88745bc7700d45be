import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  input: z.object({ cents: z.number() }),
  approval: 'required',
  run: async () => 'paid',
})

function desk(
  script: Parameters<typeof scriptedModel>[0] = Array.from({ length: 20 }, (_, index) => `answer ${index + 1}`),
) {
  const model = scriptedModel(script)
  return { model, agent: defineAgent({ name: 'desk', model, tools: [refund] }) }
}

/** A gate that a model's answer waits at. */
function gated(...rest: readonly string[]) {
  const gate = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const { agent, model } = desk(async ({ n }) => {
    if (n > 1) return rest[n - 2] ?? 'more'
    begun.resolve()
    await gate.promise
    return 'first'
  })
  return { agent, model, begun: begun.promise, open: () => gate.resolve() }
}

/** Several intervals of polling, in which a worker would have taken what it may take. */
const whileWorkersLook = (pollMs: number) => new Promise((resolve) => setTimeout(resolve, 6 * pollMs))
const pollMs = 20

overStores('pauses', ({ start, openStore, reopen }) => {
  for (const target of [{ agent: 'desk' }, { tenant: 'default' }, { conversation: 'a' }] as const) {
    test(`what is paused takes messages and works on none until it is resumed: ${Object.keys(target)}`, async () => {
      const { agent, model } = desk()
      const runtime = start({ agents: [agent], pollMs })
      const chat = runtime.conversation('a', { agent: 'desk' })
      await (await chat.send('one')).outcome()
      const pause = await runtime.pause(target, { who: 'ops/ada', reason: 'the provider is down' })
      expect(pause).toMatchObject({ who: 'ops/ada', reason: 'the provider is down' })
      const turn = await chat.send('two')
      const queued = await chat.send('three')
      await whileWorkersLook(pollMs)
      expect(model.calls).toHaveLength(1)
      expect((await chat.view()).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'user'])
      expect(await runtime.resume(target)).toBe(true)
      expect((await turn.outcome()).status).toBe('completed')
      expect((await queued.outcome()).status).toBe('completed')
      expect((await runtime.steeringActs()).map(({ act, who }) => [act, who])).toEqual([
        ['resume', 'system'],
        ['pause', 'ops/ada'],
      ])
    })
  }

  test('a turn that runs goes on to its end, and the next in its queue waits', async () => {
    const { agent, model, begun, open } = gated('second')
    const runtime = start({ agents: [agent], pollMs })
    const chat = runtime.conversation('a', { agent: 'desk' })
    const first = await chat.send('one')
    await begun
    await runtime.pause({ conversation: 'a' })
    const second = await chat.send('two', { whenBusy: 'queue' })
    open()
    expect(await first.outcome()).toMatchObject({ status: 'completed', text: 'first' })
    await until(async () => (await runtime.nodes()).every(({ held }) => held === 0))
    await whileWorkersLook(pollMs)
    expect(model.calls).toHaveLength(1)
    await runtime.resume({ conversation: 'a' })
    expect(await second.outcome()).toMatchObject({ status: 'completed', text: 'second' })
  })

  test('an answer is accepted and recorded while it is paused, and the turn goes on when it is resumed', async () => {
    const { agent, model } = desk([{ calls: [{ tool: 'refund', args: { cents: 5 } }] }, 'done'])
    const store = openStore()
    const runtime = start({ agents: [agent], store, pollMs })
    const chat = runtime.conversation('a', { agent: 'desk' })
    const turn = await chat.send('pay me back')
    const waiting = await turn.outcome()
    if (waiting.status !== 'waiting') throw new Error(waiting.status)
    await runtime.pause({ agent: 'desk' })
    const other = start({ agents: [desk().agent], store: reopen(store), work: false })
    await other.conversation('a').approve(waiting.pending[0]!)
    await whileWorkersLook(pollMs)
    expect((await store.streamEvents('a')).map(({ type }) => type).slice(-1)).toEqual(['resolution'])
    expect(model.calls).toHaveLength(1)
    await runtime.resume({ agent: 'desk' })
    await until(async () => (await turn.outcome()).status === 'completed')
  })

  test('a deadline expires while it is paused, once and at its time, and is acted on when it is resumed', async () => {
    const slow = defineTool({ ...refundOptions, expiresInMs: 60 })
    const model = scriptedModel([{ calls: [{ tool: 'refund', args: { cents: 5 } }] }, 'too late'])
    const agent = defineAgent({ name: 'desk', model, tools: [slow] })
    const runtime = start({ agents: [agent], pollMs })
    const chat = runtime.conversation('a', { agent: 'desk' })
    const turn = await chat.send('pay me back')
    await turn.outcome()
    await runtime.pause({ tenant: 'default' })
    const last = async () => (await runtime.store.streamEvents('a')).at(-1)!
    await until(async () => (await last()).type === 'resolution')
    expect((await last()).content).toMatchObject({ status: 'expired' })
    await whileWorkersLook(pollMs)
    expect(model.calls).toHaveLength(1)
    await runtime.resume({ tenant: 'default' })
    await until(async () => (await turn.outcome()).status === 'completed')
    expect((await runtime.store.streamEvents('a')).filter(({ type }) => type === 'resolution')).toHaveLength(1)
  })

  test('a turn that waits can be cancelled while it is paused, also one that is queued, and nothing of the agent runs', async () => {
    const { agent, model } = desk([{ calls: [{ tool: 'refund', args: { cents: 5 } }] }, 'more'])
    const runtime = start({ agents: [agent], pollMs })
    const chat = runtime.conversation('a', { agent: 'desk' })
    const turn = await chat.send('pay me back')
    await turn.outcome()
    await runtime.pause({ conversation: 'a' })
    const queued = await chat.send('and more')
    expect((await chat.cancel())?.status).toBe('cancelled')
    expect((await turn.outcome()).status).toBe('cancelled')
    expect((await chat.cancel())?.status).toBe('cancelled')
    expect((await queued.outcome()).status).toBe('cancelled')
    expect(await runtime.inbox()).toEqual([])
    expect(model.calls).toHaveLength(1)
    const fresh = await chat.send('never begun')
    expect((await chat.cancel())?.status).toBe('cancelled')
    expect((await fresh.outcome()).status).toBe('cancelled')
    expect(await chat.delete()).toBe(true)
    expect(await runtime.pauses()).toEqual([])
  })

  test('a turn that runs is cancelled by its process although it is paused', async () => {
    const { agent, begun } = gated()
    const runtime = start({ agents: [agent], pollMs })
    const chat = runtime.conversation('a', { agent: 'desk' })
    const turn = await chat.send('one')
    await begun
    await runtime.pause({ agent: 'desk' })
    expect((await chat.cancel())?.status).toBe('cancelled')
    expect((await turn.outcome()).status).toBe('cancelled')
  })

  test('a session of a paused flow starts no step until it is resumed', async () => {
    let runs = 0
    const counting = defineFlow({
      name: 'counting',
      version: '1',
      run: async (flow) => flow.step('count', async () => (runs += 1)),
    })
    const runtime = start({ agents: [], flows: [counting], pollMs })
    await runtime.pause({ agent: 'flow:counting' })
    const session = runtime.flow(counting, 's')
    const started = session.start(null)
    await until(async () => (await runtime.sessions()).length === 1)
    await whileWorkersLook(pollMs)
    expect(runs).toBe(0)
    await runtime.resume({ agent: 'flow:counting' })
    expect((await started).status).toBe('done')
    expect(runs).toBe(1)
  })

  test('lists, the inbox, views and inspect say since when it is paused, and not by whom', async () => {
    const { agent } = desk([{ calls: [{ tool: 'refund', args: { cents: 5 } }] }, 'more'])
    const runtime = start({ agents: [agent], pollMs })
    const chat = runtime.conversation('a', { agent: 'desk' })
    await (await chat.send('pay me back')).outcome()
    expect((await runtime.conversations())[0]).not.toHaveProperty('paused')
    const { at } = await runtime.pause({ agent: 'desk' }, { who: 'ops/ada', reason: 'secret plans' })
    const told = [
      (await runtime.conversations())[0]!.paused,
      (await runtime.inbox())[0]!.paused,
      (await chat.view()).paused,
      (await runtime.inspect('a').work())!.paused,
    ]
    expect(told).toEqual([{ at }, { at }, { at }, { at }])
    await runtime.resume({ agent: 'desk' })
    expect((await runtime.conversations())[0]).not.toHaveProperty('paused')
    expect(await chat.view()).not.toHaveProperty('paused')
  })
})

const refundOptions = {
  name: 'refund',
  description: 'Pays back',
  input: z.object({ cents: z.number() }),
  approval: 'required',
  run: async () => 'paid',
} as const
