import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/base/json.ts'
import { type Logger, silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { warningsIn } from '../../src/prompt/explain.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { bossOf, childTool } from './child-agents.ts'
import { overStores } from './over-stores.ts'
import { toolResults } from './tool-results.ts'

const cutShort = { text: 'Once upon a', finishReason: 'length' }

overStores('an answer that was cut off at its length, or filtered', (story) => {
  test.each(['length', 'content-filter'])('says so in outcome, view and history (%s)', async (finishReason) => {
    const model = scriptedModel({ ...cutShort, finishReason })
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('tell me')).outcome()).toMatchObject({ status: 'completed', finishReason })
    expect((await chat.view()).messages.at(-1)).toMatchObject({ status: 'complete', finishReason })
    expect((await chat.history()).messages.at(-1)).toMatchObject({ finishReason })
  })

  test('is told apart from one that is complete, or that called a tool', async () => {
    const look = defineTool({ name: 'look', description: 'Look', input: z.object({}), run: () => 'a hat' })
    const model = scriptedModel([{ calls: [{ tool: 'look', args: {} }] }, 'A hat.'])
    const agent = defineAgent({ name: 'a', model, tools: [look] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('look')).outcome()).toMatchObject({ finishReason: 'stop' })
    const written = (await chat.view()).messages.filter((message) => message.role === 'assistant')
    expect(written.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
  })

  test('says so to the model of a parent agent', async () => {
    const child = defineAgent({ name: 'researcher', model: scriptedModel(cutShort) })
    const { boss, model } = bossOf([childTool('research', child)], [{ tool: 'research', args: { task: 'a tale' } }])
    const chat = story.start({ agents: [boss] }).conversation('c1', { agent: 'boss' })
    await (await chat.send('go')).outcome()
    const value = 'Once upon a\n[This answer was cut off at its length limit.]'
    expect(toolResults(model, 2)).toEqual([['research', { type: 'text', value }]])
  })

  test('says so to a flow', async () => {
    const agent = defineAgent({ name: 'editor', model: scriptedModel(cutShort) })
    const flow = defineFlow({
      name: 'review',
      version: 1,
      run: async (verbs) => (await verbs.agent('editor', { message: 'Review' })) as unknown as Json,
    })
    const runtime = story.start({ agents: [agent], flows: [flow] })
    const session = runtime.flow(flow, 's1')
    await session.start(null)
    expect(await session.outcome()).toMatchObject({ status: 'done', result: { finishReason: 'length' } })
  })

  test('says so in a snapshot, and in the conversation that is restored from it', async () => {
    const kept: Json[] = []
    const persistence = {
      persistState: (_: unknown, state: unknown) => void kept.push(state as Json),
      loadState: () => kept.at(-1) ?? null,
    }
    const agent = defineAgent({ name: 'a', model: scriptedModel([cutShort, 'More.']) })
    const first = story.start({ agents: [agent], persistence }).conversation('c1', { agent: 'a' })
    await (await first.send('tell me')).outcome()
    expect(kept.at(-1)).toMatchObject({ messages: [{}, { finishReason: 'length' }] })
    const second = story.start({ agents: [agent], persistence }).conversation('c1', { agent: 'a' })
    await (await second.send('go on')).outcome()
    const written = (await second.view()).messages.filter((message) => message.role === 'assistant')
    expect(written.map(({ finishReason }) => finishReason)).toEqual(['length', 'stop'])
  })

  test('is asked for once more, shorter, where it was to be an object; then the turn fails and says why', async () => {
    const half = { text: '{"n": 1', finishReason: 'length' }
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const model = scriptedModel([half, half, half, { object: { n: 1 } }])
    const agent = defineAgent({ name: 'a', model, output })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('give')).outcome()).toMatchObject({ status: 'failed', reason: 'object_cut_off' })
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain(
      'it was cut off at its length limit before it was complete',
    )
    expect(await (await chat.send('again')).outcome()).toMatchObject({ status: 'completed', object: { n: 1 } })
  })

  test('with half a call runs nothing, and the model reads that its length was the problem', async () => {
    const runs: string[] = []
    const act = defineTool({ name: 'act', description: 'Act', input: z.object({}), run: () => void runs.push('act') })
    const model = scriptedModel([{ calls: [{ tool: 'act', args: '{"or' }], finishReason: 'length' }, 'Sorry.'])
    const agent = defineAgent({ name: 'a', model, tools: [act] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'a' })
    expect(await (await chat.send('act')).outcome()).toMatchObject({ status: 'completed', text: 'Sorry.' })
    expect(runs).toEqual([])
    expect(JSON.stringify(toolResults(model, 2))).toContain('the message was cut off at its length limit')
  })
})

overStores('what a provider warns of', (story) => {
  test('is logged once for each model, and is in the audit of every call', async () => {
    const logged: unknown[] = []
    const logger: Logger = { ...silentLogger, warn: (message, details) => void logged.push([message, details]) }
    const model = scriptedModel(() => ({ text: 'Hi.', warnings: ['temperature is not supported'] }))
    const agent = defineAgent({ name: 'a', model, audit: 'records' })
    const chat = story.start({ agents: [agent], logger }).conversation('c1', { agent: 'a' })
    await (await chat.send('one')).outcome()
    await (await chat.send('two')).outcome()
    const warning = 'other: temperature is not supported'
    expect(logged).toEqual([
      [
        'a model provider warned',
        expect.objectContaining({ id: 'c1', agent: 'a', modelId: 'scripted-model', warning }),
      ],
    ])
    const rows = await chat.modelCalls()
    expect(rows.map(warningsIn)).toEqual([[warning], [warning]])
  })

  test('is logged for each thing it warns of, and for each model that does', async () => {
    const logged: unknown[] = []
    const logger: Logger = {
      ...silentLogger,
      warn: (_, details) => void logged.push(`${Object(details)['modelId']} ${Object(details)['warning']}`),
    }
    const warning = (modelId: string, ...warnings: string[]) =>
      Object.assign(
        scriptedModel(() => ({ text: 'Hi.', warnings })),
        { modelId },
      )
    const agents = [
      defineAgent({ name: 'a', model: warning('one', 'no seed', 'no temperature') }),
      defineAgent({ name: 'b', model: warning('two', 'no seed') }),
    ]
    const runtime = story.start({ agents, logger })
    for (const agent of ['a', 'b', 'a'] as const)
      await (await runtime.conversation(`of ${agent}`, { agent }).send('Hi')).outcome()
    expect(logged).toEqual(['one other: no seed', 'one other: no temperature', 'two other: no seed'])
  })

  test('is logged where nothing is audited, without the secrets in it', async () => {
    const logged: unknown[] = []
    const logger: Logger = { ...silentLogger, warn: (message, details) => void logged.push([message, details]) }
    const key = `sk-${'a1B2c3D4'.repeat(6)}`
    const model = scriptedModel({ text: 'Hi.', warnings: [`the key ${key} is old`] })
    const chat = story.start({ agents: [defineAgent({ name: 'a', model })], logger }).conversation('c1', { agent: 'a' })
    await (await chat.send('one')).outcome()
    expect(logged).toHaveLength(1)
    expect(JSON.stringify(logged)).not.toContain(key)
  })
})
