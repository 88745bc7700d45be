import { expect, test } from 'vitest'
import { preHook } from '../../src/define/create-hook.ts'
import { inject } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { expectStablePrefix } from '../../src/testing/validate-prompt.ts'
import { lookupAgent, talk } from './context-agent.ts'
import { overStores } from './over-stores.ts'

overStores('the prefix of prompts', (story) => {
  test('stays while hooks inject, durably or not, and over reductions', async () => {
    let n = 0
    const hooks = [
      preHook('time', (turn) => inject(turn, `it is ${++n} o’clock`)),
      preHook('weather', (turn) => inject(turn, 'it rains'), { durable: true }),
    ]
    const summaries = scriptedModel('They looked things up.')
    const { agent, model } = lookupAgent({ hooks, context: { summarise: { model: summaries }, injectionReserve: 100 } })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'lookup' })
    await talk(chat, 30)
    expect(model.calls.length).toBeGreaterThan(59)
    expectStablePrefix(model.calls)
    expect(() => expectStablePrefix(model.calls, { reductions: 0 })).toThrow('reductions; at most 0 were expected')
  })

  test('moves when instructions change from call to call, and the test says so', async () => {
    let n = 0
    const { agent, model } = lookupAgent({ instructions: () => `It is ${++n} o’clock.` })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'lookup' })
    await talk(chat, 2)
    expect(() => expectStablePrefix(model.calls)).toThrow(
      'The prompt prefix moved 3 times without a reduction. call 2: the instructions have changed',
    )
  })

  test('may move once when another node takes over', async () => {
    const summaries = scriptedModel('They looked things up.')
    const { agent, model } = lookupAgent({ context: { summarise: { model: summaries } } })
    const store = story.openStore()
    for (const [round, opened] of [store, story.reopen(store)].entries()) {
      const runtime = story.start({ agents: [agent], store: opened })
      await talk(runtime.conversation('c1', { agent: 'lookup' }), 12, 1 + round * 12)
      await runtime.close()
    }
    expectStablePrefix(model.calls, { takeovers: 1 })
  })
})
