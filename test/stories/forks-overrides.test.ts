import { expect, test } from 'vitest'
import { z } from 'zod'
import { halt, postHook, preHook } from '../../src/define/create-hook.ts'
import { defineAgent, deriveAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { inject } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'

const refund = (pays: (cents: number) => unknown) =>
  defineTool({
    name: 'refund',
    description: 'Pay back',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    run: ({ cents }) => pays(cents),
  })

function support() {
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool' ? 'Refunded.' : { calls: [{ tool: 'refund', args: { cents: 500 } }] },
  )
  return defineAgent({
    name: 'support',
    model,
    instructions: 'Be brief.',
    tools: [refund((cents) => ({ paid: cents }))],
    maxSteps: 7,
  })
}

overStores('a fork with another agent', (story) => {
  test('goes on with its model and instructions, and the parent with its own', async () => {
    const original = support()
    const model = scriptedModel(() => 'I am another.')
    const careful = deriveAgent(original, { name: 'careful', model, instructions: 'Be careful.' })
    const runtime = story.start({ agents: [original, careful], pollMs: 20 })
    const chat = runtime.conversation('chat', { agent: 'support' })
    const turn = await chat.send('Money back, please')
    const call = await onlyPendingOf(turn)
    const fork = await chat.fork({ at: 1, id: 'fork', agent: careful })
    await fork.continue()
    expect(await fork.outcome()).toMatchObject({ status: 'completed', text: 'I am another.' })
    expect(model.calls[0]?.prompt).toMatchObject([{ role: 'system', content: 'Be careful.' }, { role: 'user' }])
    expect(await runtime.store.getConversation('fork')).toMatchObject({
      agent: 'careful',
      parent: { id: 'chat', at: 1 },
    })
    await chat.approve(call)
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Refunded.' })
    expect(model.calls).toHaveLength(1)
  })

  test('runs its own tools for what was pending, and keeps what was decided about them', async () => {
    const original = support()
    const dry = deriveAgent(original, { name: 'dry-run', tools: [refund((cents) => ({ would: cents }))] })
    const runtime = story.start({ agents: [original, dry], pollMs: 20 })
    const chat = runtime.conversation('chat', { agent: 'support' })
    await onlyPendingOf(await chat.send('Money back, please'))
    const fork = await chat.fork({ agent: 'dry-run', id: 'fork' })
    await fork.approve((await fork.view()).pending[0]!)
    expect(await fork.outcome()).toMatchObject({ status: 'completed' })
    const result = (await fork.events()).find(({ type }) => type === 'tool_result')
    expect(result).toMatchObject({ content: { ok: true, result: { would: 500 } } })
  })

  test('tells the model when a pending tool is not among its tools', async () => {
    const original = support()
    const toolless = deriveAgent(original, { name: 'toolless', tools: [] })
    const runtime = story.start({ agents: [original, toolless], pollMs: 20, missingToolMs: 0 })
    const chat = runtime.conversation('chat', { agent: 'support' })
    await onlyPendingOf(await chat.send('Money back, please'))
    const fork = await chat.fork({ agent: toolless, id: 'fork' })
    await fork.approve((await fork.view()).pending[0]!)
    expect(await fork.outcome()).toMatchObject({ status: 'completed' })
    expect((await fork.events()).find(({ type }) => type === 'tool_result')).toMatchObject({ content: { ok: false } })
  })

  test('runs its own hooks, from the fork on', async () => {
    const original = support()
    const model = scriptedModel(
      ({ prompt }) => `I saw ${JSON.stringify(prompt).includes('Mind the gap') ? 'it' : 'nothing'}`,
    )
    const hooked = deriveAgent(original, {
      name: 'hooked',
      model,
      hooks: [
        preHook('reminder', (turn) => inject(turn, 'Mind the gap')),
        postHook('censor', (turn) =>
          JSON.stringify(turn.userMessage).includes('secret') ? halt('no secrets') : undefined,
        ),
      ],
    })
    const runtime = story.start({ agents: [original, hooked], pollMs: 20 })
    const chat = runtime.conversation('chat', { agent: 'support' })
    await onlyPendingOf(await chat.send('Money back, please'))
    const fork = await chat.fork({ at: 1, id: 'fork', agent: hooked })
    await fork.continue()
    expect(await fork.outcome()).toMatchObject({ text: 'I saw it' })
    expect(await (await fork.send('a secret')).outcome()).toMatchObject({ status: 'halted', reason: 'no secrets' })
  })

  test('may be forked once more to the agent it came from', async () => {
    const original = support()
    const careful = deriveAgent(original, { name: 'careful', model: scriptedModel(() => 'Careful.') })
    const runtime = story.start({ agents: [original, careful], pollMs: 20 })
    const chat = runtime.conversation('chat', { agent: 'support' })
    await onlyPendingOf(await chat.send('Money back, please'))
    const fork = await chat.fork({ at: 1, agent: careful })
    const back = await fork.fork({ agent: original })
    await back.continue()
    expect(await back.outcome()).toMatchObject({ status: 'waiting', pending: [{ tool: 'refund' }] })
  })
})

test('a derived agent has everything it was not told to have otherwise', () => {
  const original = support()
  const model = scriptedModel('hi')
  const derived = deriveAgent(original, { name: 'other', model, maxSteps: 3 })
  const { name, model: kept, maxSteps, ...rest } = derived
  expect([name, kept, maxSteps]).toEqual(['other', model, 3])
  expect(original).toMatchObject({ ...rest, toolSet: expect.anything() })
  expect(deriveAgent(derived, { name: 'third' })).toMatchObject({ name: 'third', model, maxSteps: 3 })
  expect(() => deriveAgent(original, { name: 'odd', untilTool: 'refund', tools: [] } as never)).toThrow(
    expect.objectContaining({ code: 'invalid_definition' }),
  )
})
