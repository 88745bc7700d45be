import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type Gate, gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { toolResults } from './tool-results.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 20_000 })

/** A model that makes `count` calls at once to a tool that returns when the story lets it. */
function workshop(count: number, maxParallelCalls?: number) {
  const running = new Map<number, Gate>()
  const mostAtOnce = { value: 0 }
  const work = defineTool({
    name: 'work',
    description: 'Work on one piece',
    input: z.object({ n: z.number() }),
    run: async ({ n }) => {
      const isDone = gate()
      running.set(n, isDone)
      mostAtOnce.value = Math.max(mostAtOnce.value, running.size)
      await isDone.opened
      running.delete(n)
      return n * 10
    },
  })
  const calls = Array.from({ length: count }, (_, index) => ({ tool: 'work', args: { n: index + 1 } }))
  const model = scriptedModel([{ calls }, 'Done.'])
  const limit = maxParallelCalls === undefined ? {} : { maxParallelCalls }
  const agent = defineAgent({ name: 'workshop', model, tools: [work], ...limit })
  const finish = async (n: number) => (await until(() => running.get(n))).open()
  return { agent, model, running, mostAtOnce, finish }
}

overStores('calls of one message', (story) => {
  test('run at the same time, and their results are read in the order they were called in', async () => {
    const { agent, model, running, finish } = workshop(3)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'workshop' })
    const turn = await chat.send('work')
    await until(() => running.size === 3)
    for (const n of [3, 1, 2]) await finish(n)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(toolResults(model, 2).map(([, output]) => output)).toEqual(
      [10, 20, 30].map((value) => ({ type: 'json', value })),
    )
  })

  test('run no more than maxParallelCalls at a time, and each that ends lets the next one start', async () => {
    const { agent, model, running, mostAtOnce, finish } = workshop(5, 2)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'workshop' })
    const turn = await chat.send('work')
    await until(() => running.size === 2)
    expect([...running.keys()]).toEqual([1, 2])
    await finish(2)
    await until(() => running.has(3))
    for (const n of [3, 4, 5, 1]) await finish(n)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(mostAtOnce.value).toBe(2)
    expect(toolResults(model, 2)).toHaveLength(5)
  })

  test('are started in the commit of the message that made them, and a result is in the log as soon as there is one', async () => {
    const { agent, finish } = workshop(2)
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'workshop' })
    const turn = await chat.send('work')
    await finish(2)
    const results = await until(async () => {
      const found = (await chat.events()).filter((event) => event.type === 'tool_result')
      return found.length > 0 ? found : null
    })
    const events = await chat.events()
    expect(results).toMatchObject([{ content: { ok: true, result: 20 } }])
    const message = events.find((event) => event.type === 'assistant_msg')
    const starts = events.filter((event) => event.type === 'tool_started')
    expect(starts.map((event) => event.at)).toEqual([message?.at, message?.at])
    await finish(1)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
  })
})
