import { expect, test } from 'vitest'
import { defineFlow } from '../../src/define/define-flow.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

function order() {
  const runs: string[] = []
  const flow = defineFlow({
    name: 'order',
    version: 1,
    run: async (flow, input) => {
      const run = (name: string) =>
        flow.step(name, ({ id }) => {
          runs.push(`${name} ${id}`)
          return name
        })
      if (input === 'last') return [await run('ship'), await flow.suspend('received?')]
      const both = await Promise.all([run('reserve'), run('price')])
      const answer = await flow.suspend<string>('confirm?')
      await flow.now()
      if (answer === 'no') return [...both, 'cancelled']
      await run('charge')
      return flow.continueAs('last')
    },
  })
  return { flow, runs }
}

overStores('a fork of a session', (story) => {
  test('waits on when the parent is answered, and goes its own way', async () => {
    const { flow, runs } = order()
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    await session.start(null)
    const fork = await session.fork('s2')
    expect([await fork.status(), await fork.pending()]).toEqual(['dormant', 'confirm?'])
    expect(await session.resume('yes')).toEqual({ status: 'waiting', tag: 'received?' })
    expect([await fork.status(), await fork.pending()]).toEqual(['dormant', 'confirm?'])
    expect(await fork.resume('no')).toEqual({ status: 'done', result: ['reserve', 'price', 'cancelled'] })
    expect(await session.resume(true)).toEqual({ status: 'done', result: ['ship', true] })
    expect(runs.filter((run) => run.startsWith('reserve'))).toEqual(['reserve s1/0/1'])
    expect(await runtime.store.getConversation('s2')).toMatchObject({
      kind: 'flow',
      agent: 'flow:order',
      parent: { id: 's1', at: 6 },
    })
    expect((await session.forks()).map(({ id }) => id)).toEqual(['s2'])
    expect(await fork.lineage()).toEqual([{ id: 's1', at: 6 }])
  })

  test('may be cut at every sequence number, and each continues to its end; recorded steps do not run again', async () => {
    const { flow, runs } = order()
    const runtime = story.start({ agents: [], flows: [flow], pollMs: 20 })
    const session = runtime.flow(flow, 's1')
    await session.start(null)
    await session.resume('yes')
    await session.resume(true)
    const log = await session.events()
    const before = [...runs]
    for (let at = 1; at <= log.length; at++) {
      runs.length = 0
      const fork = await session.fork(`fork-${at}`, { at })
      expect((await fork.events()).map(({ conversationId: _, ...event }) => event)).toEqual(
        log.slice(0, at).map(({ conversationId: _, ...event }) => event),
      )
      let standing = await fork.continue()
      while (standing.status === 'waiting') standing = await fork.resume(true)
      expect(standing, `cut at ${at}`).toEqual({ status: 'done', result: ['ship', true] })
      const settled = log.slice(0, at).filter(({ type }) => type === 'flow_outcome').length
      expect(runs.length, `cut at ${at} with ${settled} outcomes`).toBeLessThanOrEqual(before.length)
      for (const event of log.slice(0, at)) {
        if (event.type !== 'flow_opened' || event.content.op.kind !== 'step') continue
        const { id, position, op } = event.content
        const generation = log.slice(0, event.seq).filter(({ type }) => type === 'flow_continued').length
        const hasOutcome = log
          .slice(event.seq, at)
          .some((later) => later.type === 'flow_outcome' && later.content.position === position)
        const again = runs.filter((run) => run.startsWith(`${op.name} `))
        // Under way at the cut: it runs for the fork with the id it was begun with.
        expect(again, `${op.name} of ${generation}, cut at ${at}`).toEqual(hasOutcome ? [] : [`${op.name} ${id}`])
      }
    }
    expect(await session.events()).toEqual(log)
  })

  test('made in the middle of a step does not disturb it, and runs it for itself with the same id', async () => {
    const begun = gate()
    const finish = gate()
    const ids: string[] = []
    const flow = defineFlow({
      name: 'slow',
      version: 1,
      run: (flow) =>
        flow.step('slow', async ({ id }) => {
          ids.push(id)
          begun.open()
          if (ids.length === 1) await finish.opened
          return ids.length
        }),
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    const started = session.start(null)
    await begun.opened
    const fork = await session.fork('s2')
    expect(await fork.status()).toBe('dormant')
    expect(await fork.outcome()).toEqual({ status: 'dormant', tag: null })
    expect(await fork.continue()).toEqual({ status: 'done', result: 2 })
    expect(await session.status()).toBe('running')
    finish.open()
    expect(await started).toEqual({ status: 'done', result: 2 })
    expect(ids).toEqual(['s1/0/1', 's1/0/1'])
  })

  test('of one that has ended is ended too, unless it is cut before', async () => {
    const { flow } = order()
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    await session.start(null)
    await session.resume('no')
    const copy = await session.fork('copy')
    expect([await copy.status(), await copy.result()]).toEqual(['done', ['reserve', 'price', 'cancelled']])
    expect(await copy.continue()).toMatchObject({ status: 'done' })
    await until(async () => (await runtime.store.getConversation('copy'))?.status === 'ended')
    const earlier = await session.fork('earlier', { at: 6 })
    expect(await earlier.resume('yes')).toEqual({ status: 'waiting', tag: 'received?' })
    expect(await runtime.conversations({ status: 'waiting' })).toMatchObject([{ id: 'earlier' }])
  })

  test('takes along what was put away, and only that', async () => {
    const flow = defineFlow({
      name: 'long',
      version: 1,
      run: async (flow, input) => {
        const left = input as number
        if (left === 0) return flow.suspend('end')
        await flow.now()
        return flow.continueAs(left - 1)
      },
    })
    const runtime = story.start({ agents: [], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    await session.start(100)
    const { summary } = await runtime.store.loadSince('s1')
    expect(summary?.toSeq).toBeGreaterThan(150)
    const late = await session.fork('late')
    expect(await late.resume(1)).toEqual({ status: 'done', result: 1 })
    const early = await session.fork('early', { at: 50 })
    expect(await early.continue()).toEqual({ status: 'waiting', tag: 'end' })
    const onSummary = await session.fork('on-summary', { at: summary!.toSeq })
    expect(await onSummary.continue()).toEqual({ status: 'waiting', tag: 'end' })
  })
})
