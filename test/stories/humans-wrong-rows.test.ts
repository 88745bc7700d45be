import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { NewEvent } from '../../src/log/events.ts'
import { userMsg } from '../../src/log/validate-event.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { called, replied, suspended } from '../log/story.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

vi.setConfig({ testTimeout: 20_000 })

async function waiting(story: StoryContext) {
  const runs: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pay',
    input: z.object({}),
    approval: 'required',
    run: (args) => void runs.push(args),
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'pay', args: {} }] },
  )
  const agent = defineAgent({ name: 'till', model, tools: [pay] })
  const runtime = story.start({ agents: [agent] })
  const chat = runtime.conversation('c1', { agent: 'till' })
  const turn = await chat.send('go')
  const call = await onlyPendingOf(turn)
  return { chat, turn, call, runs, model, store: runtime.store }
}

const wrong = [
  ['says that it has ended', { status: 'resolved' }],
  ['is in another round', { round: 7 }],
] as const

overStores('a call that the log has pending and whose row', (story) => {
  test.each(wrong)('%s can be cancelled', async (_, damage) => {
    const { chat, call, store } = await waiting(story)
    await store.upsertToolCall('c1', { id: call.callId, ...damage })
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    expect((await chat.events()).map(({ type }) => type).slice(-3)).toEqual([
      'cancel_requested',
      'resolution',
      'turn_ended',
    ])
  })

  test.each(wrong)('%s can be answered, once', async (_, damage) => {
    const { chat, turn, call, runs, store, model } = await waiting(story)
    await store.upsertToolCall('c1', { id: call.callId, ...damage })
    const answers = await Promise.all([chat.approve(call), chat.approve(call), chat.approve(call)])
    expect(answers.filter(({ accepted }) => accepted)).toHaveLength(1)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toHaveLength(1)
    expect(toolResults(model, 2)).toHaveLength(1)
  })
})

overStores('a log that was written from outside, without rows', (story) => {
  test('can be answered and cancelled like any other', async () => {
    for (const end of ['answer', 'cancel'] as const) {
      const { agent, events, model } = writtenElsewhere()
      const store = story.openStore()
      for (const event of events) await store.appendEvent('c1', event)
      await store.putConversation('c1', { agent: 'till' })
      const chat = story.start({ agents: [agent], store }).conversation('c1', { agent: 'till' })
      const turn = chat.turn('t1')
      const call = await onlyPendingOf(turn)
      if (end === 'cancel') expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
      else {
        expect(await chat.answer(call, 'blue')).toEqual({ accepted: true })
        expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
        expect(toolResults(model, 1)).toEqual([['ask', { type: 'text', value: 'blue' }]])
      }
    }
  })
})

function writtenElsewhere(): { agent: Agent; events: readonly NewEvent[]; model: ReturnType<typeof scriptedModel> } {
  const ask = defineTool({
    ...{ name: 'ask', description: 'Ask', input: z.object({}), executor: 'human', output: z.string() },
  })
  const model = scriptedModel('Done.')
  const agent = defineAgent({ name: 'till', model, tools: [ask] })
  const parts = [{ type: 'text' as const, text: 'go' }]
  const events = [
    userMsg({ turnId: 't1', message: { parts }, options: {}, who: 'ann' }),
    replied('t1', 'm1', 1, { calls: ['c1'] }),
    called('c1', { name: 'ask', executor: 'human', args: {} }),
    suspended('c1', 'elicitation'),
  ]
  return { agent, events, model }
}
