import { expect, test } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import type { Conversation } from '../../src/runtime/conversation.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'

const long = `https://id.example/${'u'.repeat(300)}`
const helper = () => defineAgent({ name: 'helper', model: scriptedModel(() => 'Done.') })
const chatOf = (runtime: Pick<Runtime, 'as'>, user = long) =>
  runtime.as(createScope({ user })).conversation('c1', { agent: 'helper' }) as Conversation

overStores('a user whose id is longer than an owner can be', (story) => {
  test('goes on with a conversation after a restart, and no one else becomes its owner', async () => {
    const store = story.openStore()
    const old = story.start({ agents: [helper()], store })
    await (await chatOf(old).send('One')).outcome()
    await old.close()
    const runtime = story.start({ agents: [helper()], store: story.reopen(store) })
    expect(await (await chatOf(runtime).send('Two')).outcome()).toMatchObject({ status: 'completed' })
    await runtime.close()
    const last = story.start({ agents: [helper()], store: story.reopen(store) })
    await (await chatOf(last, 'bob').send('Three')).outcome()
    expect(await last.store.getConversation('c1')).toMatchObject({ owner: null, agent: 'helper' })
    const users = (await chatOf(last).view()).messages.filter(({ role }) => role === 'user')
    expect(users).toMatchObject([{ who: long }, { who: long }, { who: 'bob' }])
  })

  test('begins a conversation whose row the application made before', async () => {
    const store = story.openStore()
    await store.putConversation('c1', { title: 'Mine' })
    const runtime = story.start({ agents: [helper()], store })
    expect(await (await chatOf(runtime).send('One')).outcome()).toMatchObject({ status: 'completed' })
    expect(await store.getConversation('c1')).toMatchObject({ owner: null, agent: 'helper', title: 'Mine' })
  })

  test('gets a conversation back from its snapshot, which says whose it is', async () => {
    const kept = new Map<string, Json>()
    const persistence = {
      persistState: (_: unknown, state: unknown) => void kept.set('c1', JSON.parse(JSON.stringify(state)) as Json),
      loadState: () => kept.get('c1') ?? null,
    }
    const old = story.start({ agents: [helper()], persistence })
    await (await chatOf(old).send('One')).outcome()
    await old.close()
    expect(kept.get('c1')).toMatchObject({ owner: long })
    const runtime = story.start({ agents: [helper()], persistence })
    await (await chatOf(runtime).send('Two')).outcome()
    expect((await chatOf(runtime).view()).messages).toHaveLength(4)
    expect(await runtime.store.getConversation('c1')).toMatchObject({ owner: null })
  })
})
