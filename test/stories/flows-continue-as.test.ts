import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineFlow } from '../../src/define/define-flow.ts'
import { overStores } from './over-stores.ts'
import { recordedStore } from './recorded-store.ts'

overStores('a flow that continues as itself', (story) => {
  const counter = defineFlow({
    name: 'counter',
    version: 1,
    input: z.object({ left: z.number(), total: z.number() }),
    run: async (flow, { left, total }) => {
      if (left === 0) return { total }
      const added = await flow.step('add', { input: left }, ({ id }) => ({ id, sum: total + left }))
      return flow.continueAs({ left: left - 1, total: added.sum })
    },
  })

  test('begins again with a fresh record, and every step has an id of its own', async () => {
    const runtime = story.start({ agents: [], flows: [counter] })
    const session = runtime.flow(counter, 's1')
    expect(await session.start({ left: 3, total: 0 })).toEqual({ status: 'done', result: { total: 6 } })
    expect(await session.record()).toEqual({
      flow: 'counter',
      version: '1',
      input: { left: 0, total: 6 },
      outcomes: [],
    })
    const ids = (await session.events()).flatMap((event) => (event.type === 'flow_opened' ? [event.content.id] : []))
    expect(ids).toEqual(['s1/0/1', 's1/1/1', 's1/2/1'])
  })

  test('is resumed in its last part as if there were no other', async () => {
    const flow = defineFlow({
      name: 'rounds',
      version: 1,
      run: async (flow, input) => {
        const answer = await flow.suspend<string>('next?')
        if (answer === 'stop') return input
        return flow.continueAs([...(input as string[]), answer])
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    await session.start([])
    for (const answer of ['a', 'b', 'c']) {
      expect(await session.resume(answer)).toEqual({ status: 'waiting', tag: 'next?' })
    }
    expect(await session.resume('stop')).toEqual({ status: 'done', result: ['a', 'b', 'c'] })
  })

  test('leaves behind what ran for the old record', async () => {
    const flow = defineFlow({
      name: 'leaver',
      version: 1,
      run: async (flow, input) => {
        if (input === 2) return flow.suspend('new')
        const slow = flow.step(
          'slow',
          ({ signal }) => new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('stopped'))),
        )
        await flow.step('quick', () => 'quick')
        return Promise.race([slow, flow.continueAs(2)])
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    expect(await session.start(1)).toEqual({ status: 'waiting', tag: 'new' })
    expect((await session.record())?.outcomes).toEqual([])
    expect(await session.resume('end')).toEqual({ status: 'done', result: 'end' })
  })

  test('fails when it gives itself an input that it does not take', async () => {
    const flow = defineFlow({
      name: 'confused',
      version: 1,
      input: z.string(),
      run: async (flow) => flow.continueAs(7),
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    expect(await runtime.flow(flow, 's1').start('x')).toMatchObject({
      status: 'failed',
      error: expect.stringContaining("does not fit the flow 'confused'"),
    })
  })

  test('stays short to load, however long it gets', async () => {
    const flow = defineFlow({
      name: 'long',
      version: 1,
      run: async (flow, input) => {
        const left = input as number
        if (left % 150 === 0) await flow.suspend(left)
        if (left === 0) return 'end'
        await flow.now()
        return flow.continueAs(left - 1)
      },
    })
    const opened = story.openStore()
    const { store, counts } = recordedStore(opened)
    const runtime = story.start({ agents: [], flows: [flow], store })
    const session = runtime.flow(flow, 's1')
    await session.start(450)
    for (const left of [300, 150, 0]) expect(await session.resume(null)).toEqual({ status: 'waiting', tag: left })
    const { summary, events } = await store.loadSince('s1')
    expect((await session.events()).length).toBeGreaterThan(1_300)
    expect(events.length).toBeLessThan(250)
    expect(summary).toMatchObject({ content: { flow: 'long', generation: expect.any(Number), ops: [] } })
    expect(counts['putSummary']).toBeLessThan(10)
    const fresh = story.start({ agents: [], flows: [flow], store: story.reopen(opened) })
    expect(await fresh.flow(flow, 's1').resume(null)).toEqual({ status: 'done', result: 'end' })
  })
})
