import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Logger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Tool } from '../../src/define/tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { childTool } from './child-agents.ts'
import { overStores } from './over-stores.ts'
import { pendingOf } from './pending-of.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

const quick = { pollMs: 20, leaseMs: 2_000 }
const input = z.object({})

/** A build of the agent; `Done.` when it has the results of its calls. */
function build(tools: readonly Tool[], calls: readonly string[]) {
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool')
      ? 'Done.'
      : { calls: calls.map((tool) => ({ tool, args: tool === 'ask_helper' ? { task: 'help' } : {} })) },
  )
  return defineAgent({ name: 'till', model, tools })
}

const runs: string[] = []
const gated = (name: string) =>
  defineTool({ name, description: name, input, approval: 'required', run: () => void runs.push(name) })
const [pay, look] = [gated('pay'), gated('look')]

function warnings() {
  const lines: string[] = []
  const none = () => {}
  const logger: Logger = { debug: none, info: none, error: none, warn: (text) => void lines.push(text) }
  return { lines, logger }
}

overStores('a tool that only new nodes have', (story) => {
  test('is run by one of them, though nodes without it find the approved call first', async () => {
    runs.length = 0
    const data = story.openStore()
    const { lines, logger } = warnings()
    const asked = story.start({ agents: [build([pay], ['pay'])], store: data, ...quick })
    const turn = await asked.conversation('c1', { agent: 'till' }).send('pay')
    const [call] = await pendingOf(turn)
    await asked.close()

    const old = story.start({ agents: [build([], [])], store: story.reopen(data), ...quick, logger })
    expect(await old.conversation('c1').approve(call! as never)).toEqual({ accepted: true })
    const listed = await until(async () => (await old.conversations()).find(({ problem }) => problem))
    expect(listed.problem).toMatchObject({ code: 'tool_missing', message: expect.stringContaining("no tool 'pay'") })
    expect(lines).toEqual(['a call is left to nodes that have its tool'])
    expect((await old.conversation('c1').events()).some(({ type }) => type === 'tool_started')).toBe(false)

    const fresh = story.start({ agents: [build([pay], ['pay'])], store: story.reopen(data), ...quick })
    expect(await fresh.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({
      status: 'completed',
      text: 'Done.',
    })
    expect(runs).toEqual(['pay'])
    expect((await old.conversations())[0]).not.toHaveProperty('problem')
  })

  test('is missed for as long as was set, and then its call ends as an error', async () => {
    const data = story.openStore()
    const asked = story.start({ agents: [build([pay], ['pay'])], store: data, ...quick })
    const turn = await asked.conversation('c1', { agent: 'till' }).send('pay')
    const [call] = await pendingOf(turn)
    await asked.close()
    const old = story.start({ agents: [build([], [])], store: story.reopen(data), ...quick, missingToolMs: 300 })
    const chat = old.conversation('c1')
    const answeredAt = Date.now()
    await chat.approve(call! as never)
    expect(await chat.turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(Date.now() - answeredAt).toBeGreaterThanOrEqual(290)
    expect(JSON.stringify(await chat.events())).toContain("The tool 'pay' is no longer there. It was not run.")
  })

  test('does not keep nodes without it from what they can run, nor from a cancel', async () => {
    runs.length = 0
    const data = story.openStore()
    const asked = story.start({ agents: [build([pay, look], ['pay', 'look'])], store: data, ...quick })
    const turn = await asked.conversation('c1', { agent: 'till' }).send('go')
    const calls = await pendingOf(turn)
    await asked.close()
    const { lines, logger } = warnings()
    const old = story.start({ agents: [build([look], [])], store: story.reopen(data), ...quick, logger })
    const chat = old.conversation('c1')
    await chat.approve(calls.find(({ tool }) => (tool as string) === 'pay')! as never)
    await until(() => lines.length > 0)
    await chat.approve(calls.find(({ tool }) => (tool as string) === 'look')! as never)
    await until(() => runs.includes('look'))
    await until(() => lines.length > 1)
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled' })
    expect(runs).toEqual(['look'])
  })

  test('and starts a child agent is left to them too', async () => {
    const helper = defineAgent({ name: 'helper', model: scriptedModel('Helped.') })
    const ask = childTool('ask_helper', helper, { approval: 'required' })
    const data = story.openStore()
    const asked = story.start({ agents: [build([ask], ['ask_helper']), helper], store: data, ...quick })
    const turn = await asked.conversation('c1', { agent: 'till' }).send('go')
    const [call] = await pendingOf(turn)
    await asked.close()
    const { lines, logger } = warnings()
    const old = story.start({ agents: [build([], []), helper], store: story.reopen(data), ...quick, logger })
    await old.conversation('c1').approve(call! as never)
    await until(() => lines.length > 0)
    const fresh = story.start({ agents: [build([ask], ['ask_helper']), helper], store: story.reopen(data), ...quick })
    expect(await fresh.conversation('c1').turn(turn.turnId).outcome()).toMatchObject({
      status: 'completed',
      text: 'Done.',
    })
    expect(JSON.stringify(await fresh.conversation('c1').events())).toContain('Helped.')
  })
})
