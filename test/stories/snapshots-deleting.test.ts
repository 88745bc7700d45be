import { expect, test } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import type { Agent } from '../../src/define/agent.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow, type Flow } from '../../src/define/define-flow.ts'
import { createScope } from '../../src/define/scope.ts'
import { type LoadContext, type Persistence, storeSnapshots } from '../../src/snapshot/persistence.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { exportStore, importStore } from '../../src/upkeep/index.ts'
import { bossOf, childTool } from './child-agents.ts'
import { gate } from './gate.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { shapeOf } from './texts.ts'

type Deleted = LoadContext & { readonly scope: unknown; readonly rows: number }

/** An app with a table of snapshots, which notes what it was told to delete, and how many events the log still had. */
function start(
  story: StoryContext,
  agent: Agent,
  deleteState?: (context: LoadContext) => unknown,
  flows: readonly Flow[] = [],
) {
  const store = story.openStore()
  const kept = new Map<string, Json>()
  const deleted: Deleted[] = []
  const keyOf = ({ conversationId }: LoadContext) => conversationId ?? ''
  const persistence: Persistence = {
    persistState: (_, state, context) => void kept.set(keyOf(context), state as unknown as Json),
    loadState: (_, context) => kept.get(keyOf(context)) ?? null,
    async deleteState(scope, context) {
      const tenant = (scope as { tenant?: string } | null)?.tenant ?? 'default'
      const rows = (await store.forTenant(tenant).streamEvents(keyOf(context))).length
      deleted.push({ ...context, scope, rows })
      const failure = await deleteState?.(context)
      if (failure !== undefined) return failure
      kept.delete(keyOf(context))
    },
  }
  const runtime = story.start({ agents: [agent], flows, store, persistence, persistTimeoutMs: 100 })
  return { runtime, store, kept, deleted, persistence }
}

const helper = () => defineAgent({ name: 'helper', model: scriptedModel(() => 'Hello.') })
const ann = createScope({ user: 'ann' })

overStores('deleting a conversation with snapshots', (story) => {
  test('deletes the copy first, with the scope of the caller and the owner of the conversation', async () => {
    const { runtime, store, kept, deleted } = start(story, helper())
    await (await runtime.as(ann).conversation('c1', { agent: 'helper' }).send('Hi')).outcome()
    const bob = createScope({ user: 'bob' })
    expect(await runtime.as(bob).conversation('c1').delete()).toBe(true)
    expect(deleted).toEqual([{ agentId: 'helper', conversationId: 'c1', owner: 'ann', scope: bob, rows: 3 }])
    expect([kept.size, await store.getConversation('c1')]).toEqual([0, null])
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no connection')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no connection'))],
    ['says that it failed', () => ({ ok: false, error: 'no connection' })],
    ['returns an error', () => new Error('no connection')],
    ['never comes back', () => new Promise(() => {})],
  ])('fails when the application %s: nothing is deleted, and it can be tried again', async (_, fail) => {
    let isBroken = true
    const { runtime, store } = start(story, helper(), () => (isBroken ? fail() : undefined))
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await (await chat.send('Hi')).outcome()
    const failure = {
      code: 'snapshot_delete_failed',
      retryable: true,
      message: expect.stringContaining('nothing was deleted'),
    }
    await expect(chat.delete()).rejects.toMatchObject(failure)
    await expect(runtime.deleteTenant('default')).rejects.toMatchObject(failure)
    expect(shapeOf(await store.streamEvents('c1'))).toHaveLength(3)
    expect(await (await chat.send('Still there?')).outcome()).toMatchObject({ status: 'completed' })
    isBroken = false
    expect(await chat.delete()).toBe(true)
  })

  test('leaves an id that no snapshot brings back, however late it was saved', async () => {
    const { runtime, kept } = start(story, helper(), () => null)
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await (await chat.send('Hi')).outcome()
    const late = kept.get('c1')!
    await chat.delete()
    kept.set('c1', late)
    await expect(chat.continue()).rejects.toMatchObject({ code: 'conversation_not_found' })
    await (await chat.send('Anew.')).outcome()
    expect(shapeOf(await chat.events())).toEqual(['user_msg', 'assistant_msg complete', 'turn_ended completed'])
    expect((await chat.view()).messages).toHaveLength(2)
  })

  test('that has only a snapshot left deletes that, and it does not come back', async () => {
    const { runtime, kept, deleted } = start(story, helper())
    kept.set('c1', { messages: [{ role: 'user', content: 'Hi' }] })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    expect(await chat.delete()).toBe(false)
    expect(deleted).toMatchObject([{ agentId: 'helper', conversationId: 'c1', owner: null }])
    kept.set('c1', { messages: [{ role: 'user', content: 'Hi' }] })
    await (await chat.send('Anew.')).outcome()
    expect(shapeOf(await chat.events())[0]).toBe('user_msg')
  })

  test('while it is being restored: one of the two comes first, and a deleted one stays deleted', async () => {
    const isAsked = gate()
    const mayLoad = gate()
    const store = story.openStore()
    const persistence: Persistence = {
      persistState: () => {},
      loadState: async () => {
        isAsked.open()
        await mayLoad.opened
        return { messages: [{ role: 'user', content: 'Hi' }] }
      },
    }
    const slow = story.start({ agents: [helper()], store, persistence, persistTimeoutMs: 20_000 })
    const sending = slow.conversation('c1', { agent: 'helper' }).send('Anew.')
    await isAsked.opened
    await story.reopen(store).deleteConversation('c1')
    mayLoad.open()
    expect(await (await sending).outcome()).toMatchObject({ status: 'completed' })
    expect(shapeOf(await store.streamEvents('c1'))[0]).toBe('user_msg')
  })

  test('deletes the copies of its child agents, and of all conversations of a tenant', async () => {
    const expert = defineAgent({ name: 'expert', model: scriptedModel(() => 'Done.') })
    const { boss } = bossOf([childTool('ask', expert)], [{ tool: 'ask', args: { task: 'Help' } }])
    const { runtime, deleted } = start(story, boss)
    const acme = createScope({ user: 'ann', tenant: 'acme' })
    await (await runtime.conversation('c1', { agent: 'boss' }).send('Hi')).outcome()
    await (await runtime.as(acme).conversation('c2', { agent: 'boss' }).send('Hi')).outcome()
    await runtime.conversation('c1').delete()
    expect(deleted.map(({ agentId }) => agentId)).toEqual(['expert', 'boss'])
    deleted.length = 0
    expect(await runtime.deleteTenant('acme')).toBe(2)
    expect(deleted.map(({ agentId, owner }) => [agentId, owner]).toSorted()).toEqual([
      ['boss', 'ann'],
      ['expert', 'ann'],
    ])
    expect(deleted.every(({ scope }) => (scope as { tenant?: string }).tenant === 'acme')).toBe(true)
    expect(await runtime.as(acme).conversations()).toEqual([])
  })

  test('of a tenant asks for no copy of a session, of which none is ever made', async () => {
    const flow = defineFlow({ name: 'order', version: 1, run: (flow) => flow.suspend('who?') })
    const { runtime, deleted } = start(story, helper(), undefined, [flow])
    await (await runtime.conversation('c1', { agent: 'helper' }).send('Hi')).outcome()
    await runtime.flow('order', 's1').start(null)
    expect(await runtime.deleteTenant('default')).toBe(2)
    expect(deleted.map(({ conversationId }) => conversationId)).toEqual(['c1'])
  })

  test('of the default tenant is done by the system: its scope is null', async () => {
    const { runtime, deleted } = start(story, helper())
    await (await runtime.conversation('c1', { agent: 'helper' }).send('Hi')).outcome()
    expect(await runtime.deleteTenant('default')).toBe(1)
    expect(deleted).toMatchObject([{ conversationId: 'c1', scope: null }])
  })

  test('is remembered by an export: the id is not restored in the store it is imported into', async () => {
    const first = start(story, helper())
    const chat = first.runtime.conversation('c1', { agent: 'helper' })
    await (await chat.send('Hi')).outcome()
    await chat.delete()
    let text = ''
    const { digest } = await exportStore(first.store, (part) => void (text += part))
    const second = start(story, helper())
    await importStore(
      second.store,
      (async function* () {
        yield text
      })(),
    )
    expect((await exportStore(second.store, () => {})).digest).toBe(digest)
    second.kept.set('c1', { messages: [{ role: 'user', content: 'Hi' }] })
    const again = second.runtime.conversation('c1', { agent: 'helper' })
    await (await again.send('Anew.')).outcome()
    expect(shapeOf(await again.events())[0]).toBe('user_msg')
  })

  test('in a store of snapshots leaves nothing of them', async () => {
    const rows = story.openStore()
    const persistence = storeSnapshots(rows)
    const runtime = story.start({ agents: [helper()], persistence })
    const chat = runtime.conversation('c1', { agent: 'helper' })
    await (await chat.send('Hi')).outcome()
    expect(await rows.getSnapshot('c1')).not.toBeNull()
    await chat.delete()
    expect(await rows.getSnapshot('c1')).toBeNull()
  })
})
