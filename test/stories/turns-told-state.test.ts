import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'

overStores('a state that was put from outside', (story) => {
  test('lets no message into a conversation that is busy', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'slow', model })
    const store = story.openStore()
    const working = story.start({ agents: [agent], store })
    const turn = await working.conversation('c1', { agent: 'slow' }).send('one')
    await model.called(1)
    const { lastSeq } = (await store.getConversation('c1'))!
    await store.putFsmState('c1', { state: 'idle', pending: [], lastSeq })
    // A process that has not seen the conversation plans its message on what the store says.
    const other = story.start({ agents: [agent], store: story.reopen(store), work: false })
    const sent = other.conversation('c1', { agent: 'slow' }).send('two')
    await expect(sent).rejects.toMatchObject({ code: 'conversation_busy' })
    expect((await store.getConversation('c1'))!.fsmState).toMatchObject({ state: 'idle' })
    expect(turn.turnId).not.toBe('')
  })
})
