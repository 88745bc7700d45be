import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

const quick = { pollMs: 20, leaseMs: 60_000 }
const usage = { inputTokens: { total: 10 }, outputTokens: { total: 10 } }

overStores('budgets of an account', (story) => {
  test('a call that the minute has no room for is put off, without a lease, and made when there is', async () => {
    const store = story.openStore()
    const model = scriptedModel(() => ({ text: 'ok', usage }))
    const agent = defineAgent({ name: 'support', model, account: 'openai' })
    const limits = { accounts: { openai: { requestsPerMinute: 2 } } }
    const runtime = story.start({ agents: [agent], store, limits, ...quick })
    for (const id of ['c1', 'c2']) {
      const turn = await runtime.conversation(id, { agent: 'support' }).send('hi')
      expect((await turn.outcome()).status).toBe('completed')
    }
    const turn = await runtime.conversation('c3', { agent: 'support' }).send('hi')
    // It was let go: another process could take it, although it is not due.
    const lease = await until(() => store.acquireLease('c3', 'other', 60_000))
    expect(model.calls).toHaveLength(2)
    await store.releaseLease('c3', lease.epoch)
    expect(await store.streamEvents('c3')).toHaveLength(1)
    await store.commit('c3', {
      events: [
        {
          type: 'cancel_requested',
          content: {
            turnId: turn.turnId,
            who: 'ada',
          },
        },
      ],
    })
    await until(async () => (await store.streamEvents('c3')).some(({ type }) => type === 'turn_ended'))
    expect(model.calls).toHaveLength(2)
  })

  test('two nodes together make no more calls than the minute allows', async () => {
    const store = story.openStore()
    const model = scriptedModel(() => ({ text: 'ok', usage }))
    const agent = defineAgent({ name: 'support', model, account: 'openai' })
    const limits = { accounts: { openai: { requestsPerMinute: 6 } } }
    const nodes = [store, story.reopen(store)].map((one) =>
      story.start({ agents: [agent], store: one, limits, ...quick }),
    )
    const ids = Array.from({ length: 10 }, (_, n) => `c${n}`)
    await Promise.all(ids.map((id, n) => nodes[n % 2]!.conversation(id, { agent: 'support' }).send('hi')))
    await until(async () => {
      const waiting = await store.listConversations({ status: 'active' })
      const free = await Promise.all(waiting.map(({ id }) => store.acquireLease(id, 'probe', 1)))
      return model.calls.length >= 6 && free.every((lease) => lease !== null) && waiting.length === 4
    })
    expect(model.calls).toHaveLength(6)
  })

  test('a provider that asks to wait is asked by no turn of the account until then', async () => {
    const store = story.openStore()
    const model = scriptedModel(({ n }) =>
      n === 1 ? { error: { status: 429, headers: { 'retry-after-ms': '1200.5' } } } : { text: 'ok', usage },
    )
    const agent = defineAgent({ name: 'support', model, account: 'openai' })
    const runtime = story.start({ agents: [agent], store, ...quick })
    const begun = performance.now()
    const first = await runtime.conversation('c1', { agent: 'support' }).send('hi')
    await until(() => model.calls.length === 1)
    const lease = await until(() => store.acquireLease('c1', 'other', 60_000))
    await store.releaseLease('c1', lease.epoch)
    const second = await runtime.conversation('c2', { agent: 'support' }).send('hi')
    const outcomes = await Promise.all([first.outcome(), second.outcome()])
    expect(outcomes.map(({ status }) => status)).toEqual(['completed', 'completed'])
    expect(performance.now() - begun).toBeGreaterThan(1_150)
    expect(model.calls).toHaveLength(3)
  })

  test('a provider that refuses again and again ends the turn', async () => {
    const model = scriptedModel(() => ({ error: { status: 429, headers: { 'retry-after-ms': '1001' } } }))
    const retry = { maxAttempts: 1 }
    const agent = defineAgent({ name: 'support', model, account: 'openai', retry })
    const runtime = story.start({ agents: [agent], ...quick })
    const turn = await runtime.conversation('c1', { agent: 'support' }).send('hi')
    expect((await turn.outcome()).status).toBe('failed')
    expect(model.calls.length).toBe(2)
  })
})
