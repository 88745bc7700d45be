import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope } from '../../src/define/scope.ts'
import type { Snapshot } from '../../src/log/snapshot.ts'
import { storeSnapshots } from '../../src/snapshot/persistence.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { linesOf, shapeOf } from './texts.ts'

const empty: Snapshot = { version: 3, seq: 1, phase: 'idle', title: null, summary: null, turns: [], messages: [] }

overStores('snapshots in a store', (story) => {
  test('outlive the log: a conversation that was lost continues from its snapshot', async () => {
    const kept = story.openStore()
    const model = scriptedModel(['Noted.', 'You like tea.'])
    const agent = defineAgent({ name: 'helper', model })
    const lost = story.start({ agents: [agent], persistence: storeSnapshots(kept) })
    await (await lost.conversation('c1', { agent: 'helper' }).send('I like tea.')).outcome()
    await lost.close()

    const persistence = storeSnapshots(story.reopen(kept))
    const found = story.start({ agents: [agent], store: story.openStore(), persistence })
    const chat = found.conversation('c1', { agent: 'helper' })
    expect(await (await chat.send('What do I like?')).outcome()).toMatchObject({ text: 'You like tea.' })
    expect(shapeOf(await chat.events())[0]).toBe('seeded')
    expect(linesOf(model.calls[1]!.prompt)).toEqual(['user: I like tea.', 'assistant: Noted.', 'user: What do I like?'])
  })

  test('are kept once for each conversation, the newest, and deleted with it', async () => {
    const store = story.openStore()
    const agent = defineAgent({ name: 'helper', model: scriptedModel('ok') })
    const runtime = story.start({ agents: [agent], store, persistence: storeSnapshots(store) })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await (await chat.send('one')).outcome()
    await (await chat.send('two')).outcome()
    expect(await store.getSnapshot('c1')).toMatchObject({ agentId: 'helper', conversationId: 'c1', state: { seq: 6 } })
    await chat.delete()
    expect(await store.getSnapshot('c1')).toBeNull()
    await (await chat.send('three')).outcome()
    expect(shapeOf(await chat.events())[0]).toBe('user_msg')
  })

  test('are of one tenant: for another they are not there', async () => {
    const store = story.openStore()
    const persistence = storeSnapshots(store)
    const context = { agentId: 'helper', conversationId: 'c1', owner: null }
    const ann = createScope({ user: 'ann', tenant: 'acme' })
    await persistence.persistState(ann, empty, { ...context, lifecycle: 'on_completion' })
    expect(await persistence.loadState(ann, context)).toEqual({ ...empty, owner: null })
    for (const scope of [createScope({ user: 'ann', tenant: 'evil' }), createScope({ user: 'ann' }), null]) {
      expect(await persistence.loadState(scope, context)).toBeNull()
    }
    expect(await store.getSnapshot('c1')).toBeNull()
    expect(await store.forTenant('acme').getSnapshot('c1')).not.toBeNull()
  })

  test('are of the tenant that the app says', async () => {
    const store = story.openStore()
    const persistence = storeSnapshots(store, { tenant: (scope) => `org-${scope.user}` })
    const context = { agentId: 'helper', conversationId: 'c1', owner: null }
    await persistence.persistState(createScope({ user: '7' }), empty, { ...context, lifecycle: 'on_error' })
    expect(await store.forTenant('org-7').getSnapshot('c1')).not.toBeNull()
  })

  test('need neither a scope nor a conversation', async () => {
    const persistence = storeSnapshots(story.openStore())
    const context = { agentId: 'helper', conversationId: null, owner: null }
    expect(await persistence.loadState(null, context)).toBeNull()
    await persistence.persistState(null, empty, { ...context, lifecycle: 'on_shutdown' })
    expect(await persistence.loadState(null, context)).toEqual({ ...empty, owner: null })
    expect(await persistence.loadState(null, { ...context, conversationId: 'agent:helper' })).toBeNull()
  })

  test('are of one agent: another does not continue from them', async () => {
    const persistence = storeSnapshots(story.openStore())
    await persistence.persistState(null, empty, {
      agentId: 'a',
      conversationId: 'c1',
      owner: null,
      lifecycle: 'on_cancel',
    })
    expect(await persistence.loadState(null, { agentId: 'b', conversationId: 'c1', owner: null })).toBeNull()
  })

  test('hold no scope and nothing that is only in it, but the id of the owner', async () => {
    const store = story.openStore()
    const agent = defineAgent({ name: 'helper', model: scriptedModel('ok') })
    const restoreScope = (tenant: string, user: string) =>
      createScope({ tenant, user, assigns: { token: 'secret-token' } })
    const runtime = story.start({ agents: [agent], store, persistence: storeSnapshots(store), restoreScope })
    const scope = createScope({ user: 'ann', tenant: 'acme', assigns: { token: 'secret-token' } })
    await (await runtime.as(scope).conversation('c1', { agent: 'helper' }).send('Hi')).outcome()
    const kept = (await store.forTenant('acme').getSnapshot('c1')) as { readonly state: Snapshot }
    const { owner, ...state } = kept.state
    expect(owner).toBe('ann')
    for (const word of ['secret-token', 'ann', 'acme']) expect(JSON.stringify({ ...kept, state })).not.toContain(word)
  })
})
