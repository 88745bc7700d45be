import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'

overStores('a prompt that does not fit', (story) => {
  test('fails its turn before any provider is called, and says what is too big; the conversation goes on', async () => {
    const model = scriptedModel('fine')
    const context = { ceiling: 2_000, workingBudget: 1_000, injectionReserve: 0 }
    const chat = story
      .start({ agents: [defineAgent({ name: 'chat', model, context })] })
      .conversation('c1', { agent: 'chat' })
    await (await chat.send('hello')).outcome()
    const turn = await chat.send('word '.repeat(5_000))
    const outcome = await turn.outcome()
    expect(outcome).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(
        /^context_overflow: The prompt has about \d+ tokens; the ceiling is 2000\. .*message 4: \d+ tokens/,
      ),
    })
    expect(model.calls).toHaveLength(1)
    expect(await (await chat.send('and now?')).outcome()).toMatchObject({ status: 'completed', text: 'fine' })
    expect(JSON.stringify(model.calls[1]!.prompt)).not.toContain('word word')
  })

  test('names instructions too', async () => {
    const model = scriptedModel('fine')
    const agent = defineAgent({
      name: 'chat',
      model,
      instructions: 'Be brief. '.repeat(2_000),
      context: { ceiling: 2_000 },
    })
    const chat = story.start({ agents: [agent] }).conversation('c1', { agent: 'chat' })
    expect(await (await chat.send('hello')).outcome()).toMatchObject({
      reason: expect.stringContaining('the instructions: '),
    })
    expect(model.calls).toHaveLength(0)
  })
})
