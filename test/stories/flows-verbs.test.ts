import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/json.ts'
import { defineFlow, isRequest, requestKind, requestPayload } from '../../src/define/define-flow.ts'
import { createScope } from '../../src/define/scope.ts'
import { overStores } from './over-stores.ts'

const approval = defineFlow({
  name: 'approval',
  version: 1,
  input: z.object({ amount: z.number(), currency: z.string().default('EUR') }),
  run: async (flow, { amount, currency }) => {
    const first = await flow.suspend('first opinion', { schema: z.object({ ok: z.boolean() }) })
    if (!first.ok) return { paid: 0, currency }
    const booking = await flow.request<{ id: string }>('book', { amount, currency })
    return { paid: amount, currency, booking: booking.id }
  },
})

overStores('a session of a flow', (story) => {
  test('is started, waits with a tag, is resumed, and ends with a result', async () => {
    const runtime = story.start({ agents: [], flows: [approval] })
    const session = runtime.flow(approval, 's1')
    expect([await session.status(), await session.pending(), await session.result(), await session.record()]).toEqual([
      'none',
      null,
      null,
      null,
    ])
    expect(await session.start({ amount: 5 })).toEqual({ status: 'waiting', tag: 'first opinion' })
    expect(await session.status()).toBe('waiting')
    expect(await session.pending()).toBe('first opinion')
    expect(await session.result()).toBe(null)

    const asked = await session.resume({ ok: true })
    const envelope = { type: 'request', kind: 'book', payload: { amount: 5, currency: 'EUR' } }
    expect(asked).toEqual({ status: 'waiting', tag: envelope })
    const tag = await session.pending()
    expect([isRequest(tag), requestKind(tag), requestPayload(tag)]).toEqual([true, 'book', envelope.payload])

    const done = { status: 'done', result: { paid: 5, currency: 'EUR', booking: 'b7' } }
    expect(await session.resume({ id: 'b7' })).toEqual(done)
    expect([await session.status(), await session.pending(), await session.result()]).toEqual([
      'done',
      null,
      done.result,
    ])
    expect(await session.record()).toEqual({
      flow: 'approval',
      version: '1',
      input: { amount: 5, currency: 'EUR' },
      outcomes: [
        { position: 1, ok: true, value: { ok: true }, who: 'system' },
        { position: 2, ok: true, value: { id: 'b7' }, who: 'system' },
      ],
    })
  })

  test('may be named instead of given', async () => {
    const runtime = story.start({ agents: [], flows: [approval] })
    expect(await runtime.flow('approval', 's1').start({ amount: 1 })).toMatchObject({ status: 'waiting' })
  })

  test('records who started it and who answered', async () => {
    const runtime = story.start({ agents: [], flows: [approval] })
    await runtime
      .as(createScope({ user: 'ann' }))
      .flow(approval, 's1')
      .start({ amount: 1 })
    const bob = runtime.as(createScope({ user: 'bob' })).flow(approval, 's1')
    expect(await bob.resume({ ok: false })).toEqual({ status: 'done', result: { paid: 0, currency: 'EUR' } })
    const events = await bob.events()
    expect(events[0]).toMatchObject({ type: 'flow_started', content: { who: 'ann' } })
    expect(events.find((event) => event.type === 'flow_outcome')).toMatchObject({ content: { who: 'bob' } })
  })

  test('is walled off from other tenants', async () => {
    const runtime = story.start({ agents: [], flows: [approval] })
    await runtime
      .as(createScope({ tenant: 'a' }))
      .flow(approval, 's1')
      .start({ amount: 1 })
    const stranger = runtime.as(createScope({ tenant: 'b' })).flow(approval, 's1')
    expect(await stranger.status()).toBe('none')
    await expect(stranger.resume({ ok: true })).rejects.toMatchObject({ code: 'no_session' })
  })

  test('is deleted with its log', async () => {
    const runtime = story.start({ agents: [], flows: [approval] })
    const session = runtime.flow(approval, 's1')
    await session.start({ amount: 1 })
    expect([await session.delete(), await session.delete()]).toEqual([true, false])
    expect(await session.status()).toBe('none')
  })

  describe('refuses', () => {
    test('missing sessions, sessions that do not wait, and taken ids, with typed errors', async () => {
      const unknown = defineFlow({ name: 'unknown', version: 1, run: async () => 1 })
      const newer = defineFlow({ name: 'approval', version: 2, run: async () => 1 })
      const runtime = story.start({ agents: [], flows: [approval] })
      const session = runtime.flow(approval, 's1')
      for (const missing of [unknown, newer]) {
        await expect(runtime.flow(missing, 's1').start(null)).rejects.toMatchObject({ code: 'no_such_flow' })
      }
      for (const verb of [() => session.resume(1), () => session.fork('s2'), () => session.continue()]) {
        await expect(verb()).rejects.toMatchObject({ code: 'no_session' })
      }
      await session.start({ amount: 1 })
      await expect(session.start({ amount: 1 })).rejects.toMatchObject({ code: 'session_exists' })
      await session.fork('s2')
      await expect(session.fork('s2')).rejects.toMatchObject({ code: 'session_exists' })
      await session.resume({ ok: false })
      await expect(session.resume({ ok: true })).rejects.toMatchObject({ code: 'not_suspended' })
    })

    test('an input or an answer that does not fit, and nothing is written', async () => {
      const runtime = story.start({ agents: [], flows: [approval] })
      const session = runtime.flow(approval, 's1')
      await expect(session.start({ amount: 'much' } as never)).rejects.toMatchObject({ code: 'invalid_argument' })
      expect(await session.status()).toBe('none')
      await session.start({ amount: 1 })
      const { length } = await session.events()
      await expect(session.resume({ ok: 'yes' })).rejects.toMatchObject({ code: 'invalid_answer' })
      await expect(session.resume(() => {})).rejects.toMatchObject({ code: 'invalid_answer' })
      expect(await session.events()).toHaveLength(length)
      expect(await session.status()).toBe('waiting')
    })

    test('to take the log of a conversation for a session', async () => {
      const runtime = story.start({ agents: [], flows: [approval] })
      await runtime.store.appendEvent('chat', {
        type: 'user_msg',
        content: { turnId: 't1', message: { parts: [] }, options: {}, who: 'ann' },
      })
      const session = runtime.flow(approval, 'chat')
      const verbs = {
        start: () => session.start({ amount: 1 }),
        resume: () => session.resume(1),
        outcome: () => session.outcome(),
        status: () => session.status(),
        pending: () => session.pending(),
        suspensions: () => session.suspensions(),
        wakeAt: () => session.wakeAt(),
        result: () => session.result(),
        record: () => session.record(),
        events: () => session.events(),
        watch: () => session.watch().next(),
        fork: () => session.fork('copy'),
        continue: () => session.continue(),
        delete: () => session.delete(),
      }
      for (const [verb, call] of Object.entries(verbs)) {
        await expect(call(), verb).rejects.toMatchObject({
          code: 'not_a_session',
          message: expect.stringContaining("runtime.conversation('chat')"),
        })
      }
      expect(await runtime.store.streamEvents('chat')).toHaveLength(1)
    })
  })

  test.each<{ answer: Json }>([
    { answer: false },
    { answer: 0 },
    { answer: '' },
    { answer: null },
    { answer: [] },
    { answer: { __proto__: null, deep: [-0, '\u0000'] } as never },
  ])('takes $answer as an answer like any other', async ({ answer }) => {
    const echo = defineFlow({
      name: 'echo',
      version: 1,
      run: async (flow) => [await flow.suspend('a'), await flow.suspend('b')],
    })
    const runtime = story.start({ agents: [], flows: [echo] })
    await runtime.flow(echo, 's1').start(null)
    await runtime.flow(echo, 's1').resume(answer)
    expect(await runtime.flow(echo, 's1').resume('end')).toEqual({ status: 'done', result: [answer, 'end'] })
  })

  test('the same key is the same start and the same answer, also after it has gone on', async () => {
    const runtime = story.start({ agents: [], flows: [approval] })
    const session = runtime.flow(approval, 's1')
    await session.start({ amount: 1 }, { key: 'begin' })
    expect(await session.start({ amount: 1 }, { key: 'begin' })).toMatchObject({ tag: 'first opinion' })
    await expect(session.start({ amount: 2 }, { key: 'begin' })).rejects.toMatchObject({ code: 'key_reused' })
    await session.resume({ ok: true }, { key: 'click' })
    const second = await session.resume({ ok: true }, { key: 'click' })
    expect(second).toMatchObject({ status: 'waiting', tag: { kind: 'book' } })
    await expect(session.resume({ ok: false }, { key: 'click' })).rejects.toMatchObject({ code: 'key_reused' })
    expect((await session.record())?.outcomes).toHaveLength(1)
  })

  test('of several suspensions any may be answered, by its tag or by its place', async () => {
    const both = defineFlow({
      name: 'both',
      version: 1,
      run: async (flow) => {
        const winner = await Promise.race([
          flow.suspend('a').then((value) => ['a', value]),
          flow.suspend('b').then((value) => ['b', value]),
        ])
        const rest = await flow.suspend('after')
        return { winner, rest }
      },
    })
    const runtime = story.start({ agents: [], flows: [both] })
    const session = runtime.flow(both, 's1')
    expect(await session.start(null)).toEqual({ status: 'waiting', tag: 'a' })
    const waiting = await session.suspensions()
    expect(waiting).toMatchObject([{ tag: 'a' }, { tag: 'b' }])
    expect(await session.resume(1, { tag: 'b' })).toEqual({ status: 'waiting', tag: 'a' })
    expect((await session.suspensions()).map(({ tag }) => tag)).toEqual(['a', 'after'])
    await expect(session.resume(2, { seq: waiting[1]!.seq })).rejects.toMatchObject({
      code: 'not_suspended',
      winner: { who: 'system', value: 1 },
    })
    await expect(session.resume(2, { tag: 'nothing' })).rejects.toMatchObject({ code: 'not_suspended', winner: null })
    expect(await session.resume(3, { tag: 'after' })).toEqual({
      status: 'done',
      result: { winner: ['b', 1], rest: 3 },
    })
  })
})
