import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Hook, postHook, preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { inject } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { linesOf, shapeOf } from './texts.ts'

vi.setConfig({ testTimeout: 30_000 })

/** An agent whose model calls a tool once in each turn. */
function start(story: StoryContext, hooks: readonly Hook[], attributes: object = {}) {
  const act = defineTool({ name: 'act', description: 'Act', input: z.object({}), run: () => 'done' })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'act', args: {} }] },
  )
  const agent = defineAgent({ name: 'a', model, hooks, tools: [act], ...attributes })
  return { model, agent, chat: story.start({ agents: [agent] }).conversation('c1', { agent: 'a' }) }
}

/** One token per character, and four for each part. */
const context = { tokenizer: (text: string) => text.length, injectionReserve: 100, workingBudget: 10_000 }
const adding = (name: string, length: number, options: { durable?: boolean } = {}) =>
  preHook(name, (turn) => inject(turn, 'x'.repeat(length - 4)), options)

overStores('what hooks inject into a prompt', (story) => {
  test('has to fit the reserve together, with what durable hooks added at earlier steps', async () => {
    const { chat, model } = start(story, [adding('kept', 60, { durable: true })], { context })
    expect(await (await chat.send('go')).outcome()).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^injection_overflow: The injections up to the hook 'kept' have 120 tokens/),
    })
    expect(model.calls).toHaveLength(1)
    // The next turn has its own.
    expect(await (await chat.send('again')).outcome()).toMatchObject({ status: 'completed' })
  })

  test('has to fit it together where some of it is durable and some is not', async () => {
    const hooks = [adding('kept', 60, { durable: true }), adding('passing', 60)]
    const { chat } = start(story, hooks, { context })
    expect(await (await chat.send('go')).outcome()).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^injection_overflow: The injections up to the hook 'passing' have 120 tokens/),
    })
  })

  test('may fit it exactly', async () => {
    const once = preHook('kept', (turn) => inject(turn, 'x'.repeat(46)), { durable: true, once: 'turn' })
    const hooks = [once, adding('passing', 50)]
    const { chat } = start(story, hooks, { context })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed' })
  })
})

overStores('a durable hook that runs once a turn', (story) => {
  function memory(text = 'she likes hats') {
    const runs: number[] = []
    const hook = preHook(
      'memory',
      (turn) => {
        runs.push(turn.step!)
        return text === '' ? undefined : inject(turn, text)
      },
      { durable: true, once: 'turn' },
    )
    return { hook, runs }
  }

  test('runs before the first model call, and what it added stays in its place for the later ones', async () => {
    const { hook, runs } = memory()
    const { chat, model } = start(story, [hook])
    for (const text of ['one', 'two']) await (await chat.send(text)).outcome()
    expect(runs).toEqual([0, 0])
    expect(linesOf(model.calls[1]!.prompt)).toEqual([
      'user: one',
      'user: she likes hats',
      'assistant: [tool-call act]',
      'tool: [tool-result act]',
    ])
    const injections = (await chat.events()).filter((event) => event.type === 'injection')
    expect(injections.map(({ content }) => content.step)).toEqual([0, 0])
  })

  test('is not asked again where it had nothing to add', async () => {
    const { hook, runs } = memory('')
    const { chat } = start(story, [hook])
    await (await chat.send('one')).outcome()
    expect(runs).toEqual([0])
    expect(shapeOf(await chat.events()).filter((type) => type === 'injection')).toHaveLength(1)
  })

  test('uses the reserve once', async () => {
    const once = preHook('kept', (turn) => inject(turn, 'x'.repeat(56)), { durable: true, once: 'turn' })
    const { chat } = start(story, [once], { context })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed' })
  })

  test('does not run again in the process that goes on after a crash', async () => {
    const { hook, runs } = memory()
    const data = story.openStore()
    const dying = mortalStore(data)
    const model = scriptedModel(({ n, prompt }) => {
      if (n === 2) dying.kill()
      return prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'act', args: {} }] }
    })
    const { agent } = start(story, [hook], { model })
    const first = story.start({ agents: [agent], store: dying.store, leaseMs: 500 })
    const turn = await first.conversation('c2', { agent: 'a' }).send('go')
    const second = story.start({ agents: [agent], store: story.reopen(data), leaseMs: 500 })
    expect(await second.conversation('c2').turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(runs).toEqual([0])
  })
})

overStores('the time of a hook', (story) => {
  const never = () => new Promise<never>(() => {})

  test('is its own where it has one, before and after the model call', async () => {
    const before = preHook('slow', never, { timeoutMs: 20 })
    const failed = await (await start(story, [before]).chat.send('go')).outcome()
    expect(failed).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^hook_failed: The hook 'slow' took longer than 20 ms/),
    })
    const after = postHook('judge', never, { timeoutMs: 20 })
    const withheld = await (await start(story, [after]).chat.send('go')).outcome()
    expect(withheld).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^hook_failed: The hook 'judge' took longer than 20 ms/),
    })
  })

  test('may be longer than that of the others', async () => {
    const patient = preHook('patient', () => new Promise((resolve) => setTimeout(resolve, 60)), { timeoutMs: 5_000 })
    const { chat } = start(story, [patient], { hookTimeoutMs: 20 })
    expect(await (await chat.send('go')).outcome()).toMatchObject({ status: 'completed' })
  })
})
