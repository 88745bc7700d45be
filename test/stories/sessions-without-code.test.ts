import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import type { LogEvent } from '../../src/log/events.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { nextMillisecond, until } from './until.ts'

const soon = { leaseMs: 300, pollMs: 20 }
const elsewhere = { status: 'running', elsewhere: true }

const refund = defineFlow({
  name: 'refund',
  version: 3,
  input: z.object({ cents: z.number() }),
  run: async (flow, { cents }) => {
    const { ok } = await flow.suspend({ ask: 'manager', cents }, { schema: z.object({ ok: z.boolean() }) })
    return { paid: ok ? cents : 0 }
  },
})

overStores('a session where its code is not', (story) => {
  test('is read by name: status, questions, result, record, events and live events', async () => {
    const store = story.openStore()
    const worker = story.start({ agents: [], flows: [refund], store, ...soon })
    const reader = story.start({ agents: [], store: story.reopen(store), ...soon })
    const session = reader.flow('refund', 's1')
    expect([await session.status(), await session.result(), await session.record()]).toEqual(['none', null, null])
    await expect(session.watch().next()).rejects.toMatchObject({ code: 'no_session' })
    await worker.flow(refund, 's1').start({ cents: 5 })

    const tag = { ask: 'manager', cents: 5 }
    expect([await session.status(), await session.pending(), await session.wakeAt()]).toEqual(['waiting', tag, null])
    expect(await session.suspensions()).toMatchObject([{ seq: 2, tag, schema: { type: 'object' } }])
    expect(await session.outcome()).toEqual({ status: 'waiting', tag })
    expect(await session.record()).toEqual({ flow: 'refund', version: '3', input: { cents: 5 }, outcomes: [] })
    expect(await reader.flow(refund, 's1').status()).toBe('waiting')

    const seen: LogEvent[] = []
    const watching = (async () => {
      for await (const event of session.watch()) seen.push(event)
    })()
    await until(() => seen.length === 2)
    await worker.flow(refund, 's1').resume({ ok: true })
    await watching
    expect(seen).toEqual(await session.events())
    expect(seen.map(({ type }) => type)).toEqual(['flow_started', 'flow_opened', 'flow_outcome', 'flow_ended'])
    expect([await session.status(), await session.result()]).toEqual(['done', { paid: 5 }])
    const later: number[] = []
    for await (const { seq } of session.watch({ after: 2 })) later.push(seq)
    expect(later).toEqual([3, 4])
  })

  test('is answered there: the schema in the log checks the answer, and another process goes on', async () => {
    const store = story.openStore()
    const worker = story.start({ agents: [], flows: [refund], store, ...soon })
    const front = story.start({ agents: [], store: story.reopen(store), ...soon })
    const session = front.flow('refund', 's1')
    await expect(session.start({ cents: 5 })).rejects.toMatchObject({ code: 'no_such_flow' })
    await worker.flow(refund, 's1').start({ cents: 5 })
    await expect(session.resume({ ok: 'yes' })).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await session.resume({ ok: true })).toEqual(elsewhere)
    expect(await session.outcome()).toEqual({ status: 'done', result: { paid: 5 } })
    expect(await session.continue()).toMatchObject({ status: 'done' })
  })

  test('is forked, continued and deleted there', async () => {
    const store = story.openStore()
    const worker = story.start({ agents: [], flows: [refund], store, ...soon })
    await worker.flow(refund, 's1').start({ cents: 5 })
    await worker.close()
    const front = story.start({ agents: [], store: story.reopen(store), ...soon })
    const fork = await front.flow('refund', 's1').fork('s2', { at: 1 })
    expect(await fork.status()).toBe('dormant')
    expect(await fork.continue()).toEqual(elsewhere)
    expect(await fork.status()).toBe('running')
    expect(await fork.delete()).toBe(true)
    expect(await fork.status()).toBe('none')
  })

  test('ends a watch with the signal, and when it is deleted', async () => {
    const runtime = story.start({ agents: [], flows: [refund], ...soon })
    const session = runtime.flow(refund, 's1')
    await session.start({ cents: 5 })
    const stop = new AbortController()
    const types: string[] = []
    for await (const { type } of session.watch({ signal: stop.signal })) {
      types.push(type)
      if (types.length === 2) setTimeout(() => stop.abort(), 20)
    }
    expect(types).toEqual(['flow_started', 'flow_opened'])
    const watch = session.watch({ after: 1 })
    expect(await watch.next()).toMatchObject({ value: { type: 'flow_opened' } })
    const watching = watch.next()
    await session.delete()
    expect(await watching).toEqual({ done: true, value: undefined })
  })
})

overStores('lists of sessions', (story) => {
  const nap = defineFlow({ name: 'nap', version: 1, run: (flow) => flow.sleep(1_000_000) })
  const fail = defineFlow({ name: 'fail', version: '2a', run: async () => Promise.reject(new Error('no')) })

  test('say how each stands, by flow and by status, page by page, and only to its tenant', async () => {
    const chatty = defineAgent({ name: 'chatty', model: scriptedModel(() => 'Hi.') })
    const tenant = ({ tenant: of }: Scope) => String(of ?? 'default')
    const options = { agents: [chatty], tenant, restoreScope: (of: string) => createScope({ tenant: of }) as Scope }
    const store = story.openStore()
    const runtime = story.start({ ...options, flows: [refund, nap, fail], store, ...soon })
    await runtime.flow(refund, 'waits').start({ cents: 1 })
    await nextMillisecond()
    await runtime.flow(refund, 'paid').start({ cents: 2 })
    await runtime.flow(refund, 'paid').resume({ ok: true })
    await (await runtime.conversation('chat', { agent: 'chatty' }).send('Hi')).outcome()
    await nextMillisecond()
    await runtime.flow(nap, 'sleeps').start(null)
    await nextMillisecond()
    await runtime.flow(fail, 'broken').start(null)
    await nextMillisecond()
    await runtime.flow(refund, 'waits').fork('copy')
    await nextMillisecond()
    await runtime.close()

    const front = story.start({ ...options, flows: [], store: story.reopen(store), work: false })
    const begun = story.start({ ...options, flows: [nap], store: story.reopen(store), work: false })
    await begun.flow(nap, 'begun').start(null)
    const listed = async (filter?: Parameters<typeof front.sessions>[0]) =>
      (await front.sessions(filter)).map(({ id, flow, status }) => [id, flow, status])
    const all = [
      ['begun', 'nap', 'running'],
      ['copy', 'refund', 'dormant'],
      ['broken', 'fail', 'failed'],
      ['sleeps', 'nap', 'sleeping'],
      ['paid', 'refund', 'done'],
      ['waits', 'refund', 'waiting'],
    ]
    expect(await listed()).toEqual(all)
    for (const [id, flow, status] of all) {
      expect(await front.flow(flow!, id!).status(), id!).toBe(status)
      expect((await listed({ status: status as 'done' })).map(([found]) => found)).toEqual([id])
    }
    expect(await listed({ flow: 'refund' })).toEqual(all.filter(([, flow]) => flow === 'refund'))
    expect(await listed({ flow: 'chatty' })).toEqual([])
    const pages: unknown[] = []
    for (let before: string | undefined; ; ) {
      const page = await listed({ limit: 2, ...(before === undefined ? {} : { before }) })
      if (page.length === 0) break
      pages.push(...page)
      before = page.at(-1)![0]!
    }
    expect(pages).toEqual(all)
    expect(await front.as(createScope({ tenant: 'another' }) as Scope).sessions()).toEqual([])
    expect(await runtime.flows()).toEqual([
      { name: 'refund', versions: ['3'] },
      { name: 'nap', versions: ['1'] },
      { name: 'fail', versions: ['2a'] },
    ])
    for (const filter of [{ status: 'ended' }, { status: 7 }, { flow: '' }, { limit: 0 }, { before: 'nobody' }, 7]) {
      await expect(front.sessions(filter as never)).rejects.toMatchObject({
        code: expect.stringMatching(/^(invalid_|conversation_not_found)/),
      })
    }
  })
})
