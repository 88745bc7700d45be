import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { bossOf, childIdsOf, childTool } from './child-agents.ts'
import { overStores } from './over-stores.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

const again = defineTool({ name: 'again', description: 'Again', input: z.object({}), run: () => 1 })
const goesOn = { calls: [{ tool: 'again', args: {} }] }
const delegate = { tool: 'delegate', args: { task: 'x' } }

overStores('what a child agent may use', (story) => {
  async function optionsOf(boss: Agent<'boss'>, send: { maxSteps?: number; maxTokens?: number } = {}) {
    const runtime = story.start({ agents: [boss] })
    const chat = runtime.conversation('c1', { agent: 'boss' })
    await (await chat.send('go', send)).outcome()
    const ids = await childIdsOf(chat as Conversation)
    const logs = await Promise.all(ids.map((id) => runtime.conversation(id).events()))
    return logs.map(([first]) => (first?.type === 'user_msg' ? first.content.options : null))
  }

  test('is its own limits, and one level less of children', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel('ok'), maxSteps: 3, maxTokens: 500, maxDepth: 9 })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    expect(await optionsOf(boss)).toMatchObject([{ maxSteps: 3, maxTokens: 500, maxDepth: 3 }])
  })

  test('is what its parent has left, when that is less', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel('ok') })
    const { boss } = bossOf([childTool('delegate', child)], [delegate])
    // One step, of 15 tokens, is taken already.
    expect(await optionsOf(boss, { maxSteps: 4, maxTokens: 100 })).toMatchObject([{ maxSteps: 3, maxTokens: 85 }])
  })

  test('is no more than the agent that called it allows, whatever was asked for', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel('ok'), maxSteps: 1_000 })
    const { boss } = bossOf([childTool('delegate', child)], [delegate], { maxSteps: 4, maxTokens: 100 })
    expect(await optionsOf(boss, { maxSteps: 500, maxTokens: 5_000 })).toMatchObject([{ maxSteps: 3, maxTokens: 85 }])
  })

  test('counts for its parent: the tokens of a child end the turn', async () => {
    const model = scriptedModel({ text: 'ok', usage: { inputTokens: 60, outputTokens: 40 } })
    const child = defineAgent({ name: 'child', model })
    const { boss, model: bossModel } = bossOf([childTool('delegate', child)], [delegate])
    const runtime = story.start({ agents: [boss] })
    const turn = await runtime.conversation('c1', { agent: 'boss' }).send('go', { maxTokens: 115 })
    expect(await turn.outcome()).toMatchObject({
      status: 'halted',
      reason: 'max_tokens',
      usage: { inputTokens: 70, outputTokens: 45 },
    })
    expect(bossModel.calls).toHaveLength(1)
  })

  test('counts over all levels', async () => {
    const model = scriptedModel({ text: 'ok', usage: { inputTokens: 60, outputTokens: 40 } })
    const child = defineAgent({ name: 'child', model })
    const { boss: middle } = bossOf([childTool('delegate', child)], [delegate], { name: 'middle' })
    const { boss } = bossOf([childTool('delegate', middle)], [delegate])
    const runtime = story.start({ agents: [boss] })
    const turn = await runtime.conversation('c1', { agent: 'boss' }).send('go')
    // Two steps each of the two above, and one of the child.
    expect(await turn.outcome()).toMatchObject({ status: 'completed', usage: { inputTokens: 100, outputTokens: 60 } })
  })

  test('runs out in the child, which is halted', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel(goesOn), tools: [again] })
    const { boss, model } = bossOf([childTool('delegate', child)], [delegate])
    const runtime = story.start({ agents: [boss] })
    const turn = await runtime.conversation('c1', { agent: 'boss' }).send('go', { maxSteps: 3 })
    // Two steps of each: what a child has used counts, however it ended.
    expect(await turn.outcome()).toMatchObject({ status: 'completed', usage: { inputTokens: 40, outputTokens: 20 } })
    expect(toolResults(model, 2)).toEqual([
      ['delegate', { type: 'error-text', value: "the agent 'child' was halted: max_steps" }],
    ])
  })

  test('may be nothing: then it is not started, and no approval is requested', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel('ok') })
    const tool = childTool('delegate', child, { approval: 'required' })
    const { boss } = bossOf([tool], [delegate])
    const runtime = story.start({ agents: [boss] })
    const steps = runtime.conversation('steps', { agent: 'boss' })
    expect(await (await steps.send('go', { maxSteps: 1 })).outcome()).toMatchObject({ reason: 'max_steps' })
    const tokens = runtime.conversation('tokens', { agent: 'boss' })
    expect(await (await tokens.send('go', { maxTokens: 15 })).outcome()).toMatchObject({ reason: 'max_tokens' })
    for (const [chat, limit] of [
      [steps, 'max_steps'],
      [tokens, 'max_tokens'],
    ] as const) {
      const result = (await chat.events()).find((event) => event.type === 'tool_result')
      expect(result?.content).toMatchObject({ ok: false, error: expect.stringContaining(limit) })
    }
    expect(await runtime.inbox()).toEqual([])
    expect(await runtime.conversations({ agent: 'child' })).toEqual([])
  })

  test('includes how deep agents may call each other', async () => {
    const leaf = defineAgent({ name: 'leaf', model: scriptedModel('ok') })
    const { boss: middle, model } = bossOf([childTool('delegate', leaf)], [delegate], { name: 'middle' })
    const { boss } = bossOf([childTool('delegate', middle)], [delegate], { maxDepth: 1 })
    const runtime = story.start({ agents: [boss] })
    const turn = await runtime.conversation('c1', { agent: 'boss' }).send('go')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const error = 'not started: the limit on nested agents is reached (max_depth)'
    expect(toolResults(model, 2)).toEqual([['delegate', { type: 'error-text', value: error }]])
    expect(await runtime.conversations({ agent: 'leaf' })).toEqual([])
    await until(async () => (await runtime.conversations({ agent: 'middle' }))[0]?.status === 'idle')
  })
})
