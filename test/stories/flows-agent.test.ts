import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { until } from './until.ts'

const soon = { leaseMs: 300, pollMs: 20 }

function editor(reply: string = 'Looks fine.') {
  const model = scriptedModel(() => reply)
  return { agent: defineAgent({ name: 'editor', model }), model }
}

const review = defineFlow({
  name: 'review',
  version: 1,
  run: async (flow, text) => {
    const opinion = await flow.agent('editor', { id: 'desk', message: `Review: ${text}` })
    const again = await flow.agent({ name: 'editor' }, { message: 'And now?' })
    return { opinion, again: again.text }
  },
})

overStores('a flow that asks an agent', (story) => {
  test('gets the end of the turn, in a conversation it names or one of its own', async () => {
    const { agent, model } = editor()
    const runtime = story.start({ agents: [agent], flows: [review], ...soon })
    expect(await runtime.flow(review, 's1').start('a poem')).toEqual({
      status: 'done',
      result: {
        opinion: { status: 'completed', text: 'Looks fine.', finishReason: 'stop', object: null, reason: null },
        again: 'Looks fine.',
      },
    })
    expect(model.calls).toHaveLength(2)
    const conversations = await runtime.conversations({ agent: 'editor' })
    expect(conversations.map(({ id }) => id).toSorted()).toEqual(['desk', 's1/0/2'])
  })

  test('sends its message once, whatever dies and is replayed', async () => {
    const store = story.openStore()
    const waiting = defineAgent({
      name: 'editor',
      model: scriptedModel(() => ({ text: ['never', ' ends'], delayMs: 60_000 })),
    })
    const mortal = mortalStore(story.reopen(store))
    const first = story.start({ agents: [waiting], flows: [review], store: mortal.store, ...soon })
    const lost = expect(first.flow(review, 's1').start('a poem')).rejects.toThrow()
    await until(async () => (await store.streamEvents('desk')).length > 0)
    mortal.kill()
    const { agent } = editor()
    const second = story.start({ agents: [agent], flows: [review], store, ...soon })
    await until(async () => (await second.flow(review, 's1').status()) === 'done')
    const messages = (await store.streamEvents('desk')).filter(({ type }) => type === 'user_msg')
    expect(messages).toHaveLength(1)
    await first.close({ drainMs: 0 })
    await lost
  })

  test('waits as long as an approval in the agent takes, without a process that waits', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pay',
      input: z.object({}),
      approval: 'required',
      run: (_, turn) => ({ paidFor: turn.scope.user ?? null }),
    })
    const model = scriptedModel(({ n }) => (n === 1 ? { calls: [{ tool: 'pay', args: {} }] } : 'Paid.'))
    const agent = defineAgent({ name: 'payer', model, tools: [pay] })
    const flow = defineFlow({
      name: 'paying',
      version: 1,
      run: async (flow) => (await flow.agent(agent, { id: 'till', message: 'Pay it' })).text,
    })
    const runtime = story.start({ agents: [agent], flows: [flow], ...soon })
    const started = runtime
      .as(createScope({ user: 'ann' }))
      .flow(flow, 's1')
      .start(null)
    const pending = await until(async () => (await runtime.inbox())[0])
    expect(await runtime.flow(flow, 's1').status()).toBe('running')
    await until(async () => (await runtime.store.acquireLease('s1', 'somebody', 1)) !== null)
    await runtime.conversation('till').approve({ callId: pending.callId, round: pending.round })
    expect(await started).toEqual({ status: 'done', result: 'Paid.' })
    const [opened] = await runtime.store.streamEvents('till')
    expect(opened).toMatchObject({ type: 'user_msg', content: { who: 'ann' } })
  })

  test('learns how a turn ended that did not complete', async () => {
    const agent = defineAgent({
      name: 'editor',
      model: scriptedModel(() => ({ error: { status: 400 } })),
      retry: false,
    })
    const runtime = story.start({ agents: [agent], flows: [review], ...soon })
    expect(await runtime.flow(review, 's1').start('a poem')).toMatchObject({
      status: 'done',
      result: { opinion: { status: 'failed', text: '', reason: expect.any(String) } },
    })
  })

  test('may catch that there is no such agent, also when it is replayed', async () => {
    const flow = defineFlow({
      name: 'lost',
      version: 1,
      run: async (flow) => {
        const caught = await flow
          .agent('nobody', { message: 'Hello?' })
          .catch((error: Error & { code: string }) => error.code)
        await flow.suspend('go on?')
        return caught
      },
    })
    const runtime = story.start({ agents: [], flows: [flow], ...soon })
    expect(await runtime.flow(flow, 's1').start(null)).toEqual({ status: 'waiting', tag: 'go on?' })
    expect(await runtime.flow(flow, 's1').resume(null)).toEqual({ status: 'done', result: 'no_such_agent' })
    const uncaught = defineFlow({
      name: 'gone',
      version: 1,
      run: (flow) => flow.agent('nobody', { message: 'Hello?' }),
    })
    const other = story.start({ agents: [], flows: [uncaught], ...soon })
    expect(await other.flow(uncaught, 's1').start(null)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining("no agent 'nobody'"),
    })
  })

  test.each(['by its own process', 'while no process is alive'])(
    'learns that the conversation it waits for was deleted %s, and sends nothing again',
    async (how) => {
      const ask = defineTool({
        ...{ name: 'ask', description: 'Ask', input: z.object({}) },
        ...{ executor: 'human', output: z.string() },
      })
      const model = scriptedModel({ calls: [{ tool: 'ask', args: {} }] })
      const agent = defineAgent({ name: 'asking', model, tools: [ask] })
      const flow = defineFlow({
        name: 'waiting',
        version: 1,
        run: async (flow) => {
          const caught = await flow
            .agent(agent, { id: 'till', message: 'Ask them' })
            .catch(({ code, message }: Error & { code: string }) => ({ code, message }))
          return caught
        },
      })
      const store = story.openStore()
      const first = story.start({ agents: [agent], flows: [flow], store, ...soon })
      const started = first.flow(flow, 's1').start(null)
      started.catch(() => {})
      await until(async () => (await first.inbox()).length === 1)
      // It waits, and no process holds it.
      await until(async () => (await store.acquireLease('s1', 'somebody', 1)) !== null)
      if (how === 'while no process is alive') {
        await first.close()
        await store.deleteConversation('till')
      } else await first.conversation('till').delete()

      const second = story.start({ agents: [agent], flows: [flow], store: story.reopen(store), ...soon })
      await until(async () => (await second.flow(flow, 's1').status()) === 'done')
      expect(await second.flow(flow, 's1').result()).toEqual({
        code: 'conversation_not_found',
        message: expect.stringContaining("'till' was deleted while the flow waited for its turn"),
      })
      expect(await store.getConversation('till')).toBeNull()
      expect(model.calls).toHaveLength(1)
    },
  )

  test('finds the end of a turn that was put away under a summary', async () => {
    const { agent } = editor()
    const flow = defineFlow({
      name: 'late',
      version: 1,
      run: async (flow) => {
        const asked = flow.agent('editor', { id: 'desk', message: 'First' })
        await flow.suspend('later')
        return (await asked).text
      },
    })
    const store = story.openStore()
    // The agent answers, but no process works on the session meanwhile.
    const front = story.start({ agents: [agent], store, ...soon })
    const desk = front.conversation('desk', { agent: 'editor' })
    await (await desk.send('First', { key: 'flow/s1/0/1', whenBusy: 'queue' })).outcome()
    await (await desk.send('Second')).outcome()
    const { lastSeq } = (await store.getConversation('desk'))!
    const base = { lastSeq, title: null, seed: null, turns: [] }
    await store.putSummary('desk', { fromSeq: 1, toSeq: lastSeq, content: 'all of it', version: 1, base })
    const runtime = story.start({ agents: [agent], flows: [flow], store: story.reopen(store), ...soon })
    await runtime.flow(flow, 's1').start(null)
    expect(await runtime.flow(flow, 's1').resume(null)).toEqual({ status: 'done', result: 'Looks fine.' })
  })
})
