import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { pendingOf } from './pending-of.ts'
import { nextMillisecond } from './until.ts'

const pay = defineTool({
  name: 'pay',
  description: 'Pay',
  input: z.object({ to: z.string() }),
  approval: 'required',
  prompt: ({ to }) => `Pay ${to}?`,
  expiresInMs: 3_600_000,
  run: () => 'paid',
})
const ask = defineTool({
  name: 'ask',
  description: 'Ask',
  executor: 'human',
  input: z.object({}),
  output: z.string(),
})

function agents() {
  const step = (calls: { tool: string; args: object }[]) =>
    scriptedModel(({ prompt }) => (prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls }))
  return [
    defineAgent({ name: 'payer', model: step([{ tool: 'pay', args: { to: 'ann' } }]), tools: [pay] }),
    defineAgent({
      name: 'asker',
      model: step([
        { tool: 'ask', args: {} },
        { tool: 'ask', args: {} },
      ]),
      tools: [ask],
    }),
  ] as const
}

overStores('the inbox', (story) => {
  test('shows everything that waits, over all conversations, newest first, until it is answered', async () => {
    const runtime = story.start({ agents: agents() })
    expect(await runtime.inbox()).toEqual([])
    await pendingOf(await runtime.conversation('c1', { agent: 'payer' }).send('pay'))
    await nextMillisecond()
    await pendingOf(await runtime.conversation('c2', { agent: 'asker' }).send('ask'))
    await nextMillisecond()
    await pendingOf(await runtime.conversation('c3', { agent: 'payer' }).send('pay'))
    const inbox = await runtime.inbox()
    expect(inbox.map(({ conversationId, tool }) => `${conversationId} ${tool}`)).toEqual([
      'c3 pay',
      'c2 ask',
      'c2 ask',
      'c1 pay',
    ])
    expect(inbox[0]).toMatchObject({
      agent: 'payer',
      agentMissing: false,
      kind: 'approval',
      round: 1,
      args: { to: 'ann' },
      prompt: 'Pay ann?',
      status: 'pending',
      expiresAt: expect.any(Number),
    })

    const first = await runtime.inbox({ limit: 2 })
    const second = await runtime.inbox({ limit: 2, before: first.at(-1)!.callId })
    expect([...first, ...second]).toEqual(inbox)

    for (const item of inbox) {
      const answer = item.tool === 'pay' ? true : 'yes'
      expect(await runtime.resolve(item.conversationId, item, answer)).toEqual({ accepted: true })
    }
    expect(await runtime.inbox()).toEqual([])
    for (const id of ['c1', 'c2', 'c3']) {
      expect(await runtime.conversation(id).outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    }
  })

  test('of a tenant holds what is its own', async () => {
    const runtime = story.start({ agents: agents() })
    const of = (tenant: string) => runtime.as(createScope({ user: 'ann', tenant }))
    await pendingOf(await of('acme').conversation('c1', { agent: 'payer' }).send('pay'))
    await pendingOf(await of('umbrella').conversation('c1', { agent: 'asker' }).send('ask'))
    expect((await of('acme').inbox()).map(({ tool }) => tool)).toEqual(['pay'])
    expect((await of('umbrella').inbox()).map(({ tool }) => tool)).toEqual(['ask', 'ask'])
    expect(await runtime.inbox()).toEqual([])
  })

  test('lets go of what was cancelled, deleted or expired', async () => {
    const runtime = story.start({ agents: agents() })
    for (const id of ['c1', 'c2', 'c3']) {
      await pendingOf(await runtime.conversation(id, { agent: 'payer' }).send('pay'))
    }
    await runtime.conversation('c1').cancel()
    await runtime.conversation('c2').delete()
    expect((await runtime.inbox()).map(({ conversationId }) => conversationId)).toEqual(['c3'])
  })
})
