import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { postHook, preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { inject, type Turn } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { linesOf } from './texts.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

const ann = createScope({ user: 'ann' })

overStores('the turn of a tool', (story) => {
  test('names agent, conversation, turn and step, and has the messages that the model saw', async () => {
    const seen: Turn[] = []
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({}),
      run: (_, turn) => {
        seen.push(turn)
        return linesOf(turn.context as never)
      },
    })
    const model = scriptedModel(({ n }) =>
      n % 3 === 0 ? 'Done.' : { text: `${n}`, calls: [{ tool: 'look', args: {} }] },
    )
    const hooks = [
      preHook('kept', (turn) => inject(turn, `kept ${turn.step}`), { durable: true }),
      preHook('passing', (turn) => inject(turn, 'passing')),
    ]
    const agent = defineAgent({ name: 'looker', instructions: 'Be brief.', model, tools: [look], hooks })
    const chat = story
      .start({ agents: [agent] })
      .as(ann)
      .conversation('c1', { agent: 'looker' })
    const turn = await chat.send('look')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const { turnId } = turn
    expect(seen).toMatchObject([
      { agent: 'looker', conversationId: 'c1', turnId, step: 0, turnRef: `${turnId}/0000` },
      { agent: 'looker', conversationId: 'c1', turnId, step: 1, turnRef: `${turnId}/0001` },
    ])
    // What the log says of it: not the instructions, and not what was injected for that one call.
    const results = (await chat.events()).flatMap((event) =>
      event.type === 'tool_result' && event.content.ok ? [event.content.result] : [],
    )
    const prompts = model.calls.map(({ prompt }) => linesOf(prompt).filter((line) => line !== 'user: passing'))
    expect(results).toEqual(prompts.slice(0, 2).map((lines) => lines.filter((line) => !line.startsWith('system'))))
    expect(results[0]).toEqual(['user: look', 'user: kept 0'])
  })

  test('has no context before it is asked for, and the same one each time', async () => {
    const contexts: unknown[] = []
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({}),
      run: (_, turn) => void contexts.push(turn.context, turn.context, Object.keys(turn).includes('context')),
    })
    const model = scriptedModel([{ calls: [{ tool: 'look', args: {} }] }, 'Done.'])
    const agent = defineAgent({ name: 'looker', model, tools: [look] })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'looker' })
    await (await chat.send('look')).outcome()
    expect(contexts[0]).toBe(contexts[1])
    expect(contexts[2]).toBe(false)
  })

  test('is the same for hooks, instructions and the question whether a person must approve', async () => {
    const seen: Record<string, unknown> = {}
    const note = (name: string, { agent, conversationId, step, context }: Turn) => {
      seen[name] = { agent, conversationId, step, context: linesOf(context as never) }
    }
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({}),
      approval: (_, turn) => {
        note('approval', turn)
        return false
      },
      run: () => 'seen',
    })
    const model = scriptedModel(({ n }) => (n === 1 ? { calls: [{ tool: 'look', args: {} }] } : 'Done.'))
    const instructions = (turn: Turn) => {
      if (turn.step === 0) note('instructions', turn)
      return 'Be brief.'
    }
    const hooks = [postHook('after', (turn) => (turn.step === 0 ? note('after', turn) : undefined))]
    const agent = defineAgent({ name: 'looker', model, instructions, tools: [look], hooks })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'looker' })
    await (await chat.send('look')).outcome()
    const whole = { agent: 'looker', conversationId: 'c1', step: 0, context: ['system: Be brief.', 'user: look'] }
    expect(seen).toEqual({ approval: whole, after: whole, instructions: { ...whole, context: [] } })
  })

  test('acts as the system after a deadline has passed, until a person acts again', async () => {
    const acted: string[] = []
    const who = (turn: Turn) => (turn.scope.system ? 'system' : String(turn.scope.user))
    const ask = defineTool({
      name: 'ask',
      description: 'Ask',
      input: z.object({}),
      executor: 'human',
      output: z.string(),
      expiresInMs: 100,
    })
    const act = defineTool({
      name: 'act',
      description: 'Act',
      input: z.object({}),
      run: (_, turn) => void acted.push(`act ${who(turn)}`),
    })
    const model = scriptedModel([
      { calls: [{ tool: 'act', args: {} }] },
      { calls: [{ tool: 'ask', args: {} }] },
      { calls: [{ tool: 'act', args: {} }] },
      'Nobody answered.',
      { calls: [{ tool: 'act', args: {} }] },
      'Done.',
    ])
    const hooks = [preHook('before', (turn) => void acted.push(`before ${who(turn)}`))]
    const agent = defineAgent({ name: 'a', model, tools: [ask, act], hooks })
    const chat = story
      .start({ agents: [agent], restoreScope: (tenant, user) => createScope({ tenant, user }) })
      .as(ann)
      .conversation('c1', { agent: 'a' })
    const turn = await chat.send('go')
    await until(async () => (await turn.outcome()).status === 'completed')
    await (await chat.send('and now?')).outcome()
    expect(acted).toEqual([
      ...['before ann', 'act ann', 'before ann'],
      ...['before system', 'act system', 'before system'],
      ...['before ann', 'act ann', 'before ann'],
    ])
  })
})
