import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { bossOf, childIdsOf, childTool } from './child-agents.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { onlyPendingOf } from './pending-of.ts'
import { shapeOf } from './texts.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

function start(story: StoryContext) {
  const users: (string | undefined)[] = []
  const model = scriptedModel('ok')
  const instructions = (turn: { scope: { user?: string } }) => {
    users.push(turn.scope.user)
    return ''
  }
  const child = defineAgent({ name: 'child', model, instructions })
  const tool = childTool('delegate', child, { approval: 'required', description: 'Start it?' })
  const { boss, model: bossModel } = bossOf([tool], [{ tool: 'delegate', args: { task: 'do it' } }])
  const runtime = story.start({ agents: [boss] })
  const chat = runtime.as(createScope({ user: 'ann' })).conversation('c1', { agent: 'boss' })
  return { runtime, chat: chat as Conversation, model, bossModel, users }
}

overStores('an agent tool that needs approval', (story) => {
  test('starts the agent in a second round, and only then; it acts for the person who asked', async () => {
    const { runtime, chat, model, bossModel, users } = start(story)
    const turn = await chat.send('go')
    const call = await onlyPendingOf(turn)
    expect(call).toMatchObject({ kind: 'approval', round: 1, tool: 'delegate', prompt: 'Start it?' })
    expect(call.path).toEqual([{ conversationId: 'c1', callId: call.callId }])
    expect(await runtime.conversations({ agent: 'child' })).toEqual([])
    await runtime
      .as(createScope({ user: 'bob' }))
      .conversation('c1')
      .approve(call)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(users).toEqual(['ann'])
    expect(model.calls).toHaveLength(1)
    expect(toolResults(bossModel, 2)).toEqual([['delegate', { type: 'text', value: 'ok' }]])
    expect(shapeOf(await chat.events())).toEqual([
      'user_msg',
      'assistant_msg complete',
      'tool_call',
      'suspension',
      'resolution resolved',
      'suspension',
      'resolution resolved',
      'assistant_msg complete',
      'turn_ended completed',
    ])
  })

  test('starts it with what a person made of the arguments', async () => {
    const { runtime, chat } = start(story)
    const turn = await chat.send('go')
    await chat.approve(await onlyPendingOf(turn), { args: { task: 'do it well' } })
    await turn.outcome()
    const [id] = await childIdsOf(chat)
    const [first] = await runtime.conversation(id!).events()
    expect(first?.content).toMatchObject({ message: { parts: [{ text: 'do it well' }] } })
  })

  test('gives the person a deadline, and the agent none', async () => {
    const child = defineAgent({ name: 'child', model: pacedModel() })
    const tool = defineTool({
      ...{ name: 'delegate', description: 'Ask another', input: z.object({ task: z.string() }), agent: child },
      ...{ executor: 'agent', approval: 'required', expiresInMs: 3_600_000 },
    })
    const { boss } = bossOf([tool], [{ tool: 'delegate', args: { task: 'do it' } }])
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    const call = await onlyPendingOf(await chat.send('go'))
    expect(call.expiresAt).not.toBeNull()
    await chat.approve(call)
    const row = await until(async () => {
      const found = await runtime.store.getToolCall(call.callId)
      return found?.kind === 'sub_agent' && found
    })
    expect(row).toMatchObject({ status: 'pending', round: 2, expiresAt: null })
  })

  test('starts nothing when it is denied', async () => {
    const { runtime, chat, bossModel } = start(story)
    const turn = await chat.send('go')
    await chat.deny(await onlyPendingOf(turn), { reason: 'not now' })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(await runtime.conversations({ agent: 'child' })).toEqual([])
    expect(toolResults(bossModel, 2)).toEqual([
      ['delegate', { type: 'error-text', value: 'tool call denied: not now' }],
    ])
  })
})
