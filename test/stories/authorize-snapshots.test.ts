import { expect, test } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope, type Scope, systemScope } from '../../src/define/scope.ts'
import type { Tool } from '../../src/define/tool.ts'
import type { Authorize, AuthorizeRequest } from '../../src/runtime/authorize/authorize.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { createHandler } from '../../src/server/index.ts'
import { storeSnapshots } from '../../src/snapshot/persistence.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { refund } from '../support/asking-tools.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { linesOf } from './texts.ts'

const scopeOf = (user: string): Scope => createScope({ user, tenant: 'acme' }) as Scope
const userOf = (scope: Scope): string => (scope as { readonly user: string }).user
const byFilter: Authorize = ({ scope }) => ({ owner: userOf(scope) })
const byPredicate: Authorize = ({ scope, conversation }) =>
  conversation === null || conversation.owner === userOf(scope)

const helper = (tool: Tool = refund) =>
  defineAgent({
    name: 'helper',
    model: scriptedModel(({ prompt }) =>
      JSON.stringify(prompt.at(-1)).includes('money') ? { calls: [{ tool: 'refund', args: { cents: 7 } }] } : 'Done.',
    ),
    tools: [tool],
  })

/** Ann's conversation, of which only the snapshot is left. */
async function lost(story: StoryContext, message = 'The code is 42'): Promise<Store> {
  const shelf = story.openStore()
  const runtime = story.start({ agents: [helper()], persistence: storeSnapshots(shelf) })
  await (await runtime.as(scopeOf('ann')).conversation('ann-1', { agent: 'helper' }).send(message)).outcome()
  await runtime.close()
  return shelf
}

overStores('a conversation of which only a snapshot is left', (story) => {
  const found = (shelf: Store, authorize: Authorize) =>
    story.start({ agents: [helper()], persistence: storeSnapshots(story.reopen(shelf)), authorize })

  test.each([
    ['filter', byFilter],
    ['predicate', byPredicate],
  ])('is hidden from another user as one with a log is (%s)', async (_, authorize) => {
    const shelf = await lost(story)
    const runtime = found(shelf, authorize)
    const other = found(story.openStore(), authorize)
    await (await other.as(scopeOf('ann')).conversation('ann-1', { agent: 'helper' }).send('Hi')).outcome()
    for (const agent of [{ agent: 'helper' as const }, undefined]) {
      const [bobs, hidden] = [runtime, other].map((each) =>
        each.as(scopeOf('bob')).conversation('ann-1', agent as never),
      )
      for (const verb of ['send', 'continue', 'retry', 'delete'] as const) {
        const told = await toldBy(bobs![verb]('Hi' as never))
        expect(told, verb).toEqual(await toldBy(hidden![verb]('Hi' as never)))
      }
    }
    expect(await runtime.store.forTenant('acme').getConversation('ann-1')).toBe(null)
    const ann = runtime.as(scopeOf('ann')).conversation('ann-1', { agent: 'helper' })
    await (await ann.send('Still there?')).outcome()
    expect((await ann.view()).messages).toHaveLength(4)
    expect(await runtime.as(scopeOf('ann')).inspect('ann-1').record()).toMatchObject({ owner: 'ann' })
  })

  test.each(['/conversations/ann-1/messages', '/conversations/ann-1/continue', '/ui/helper'])(
    'is not given to another user by POST %s',
    async (path) => {
      const runtime = found(await lost(story), byFilter)
      const other = found(story.openStore(), byFilter)
      await (await other.as(scopeOf('ann')).conversation('ann-1', { agent: 'helper' }).send('Hi')).outcome()
      const [bobs, hidden] = [await post(runtime, path), await post(other, path)]
      expect(bobs).toEqual(hidden)
      expect(bobs[0]).toBeGreaterThanOrEqual(400)
      expect(bobs[1]).not.toContain('42')
      expect(await runtime.store.forTenant('acme').getConversation('ann-1')).toBe(null)
    },
  )

  test('belongs to its owner after a user whom authorize allows has restored it, and so does what waits in it', async () => {
    const asked: AuthorizeRequest[] = []
    const runtime = found(await lost(story, 'My money'), (request) => {
      asked.push(request)
      return true
    })
    const bob = runtime.as(scopeOf('bob')).conversation('ann-1', { agent: 'helper' })
    await bob.continue()
    expect(asked.map(({ action, conversation }) => [action, conversation?.owner])).toEqual([
      ['continue', undefined],
      ['continue', 'ann'],
    ])
    const { messages, pending } = await bob.view()
    expect(messages[0]).toMatchObject({ who: 'ann', restored: true })
    await bob.approve(pending[0]!)
    expect(await bob.outcome()).toMatchObject({ status: 'completed' })
    const owner = 'ann'
    expect(await runtime.store.forTenant('acme').getConversation('ann-1')).toMatchObject({ owner })
  })

  test.each([
    ['system', { user: 'ann' }],
    ['anonymous', {}],
  ])(
    'acts as its caller where it says that its owner is the system, and never as more than its owner (%s)',
    async (owner, actor) => {
      const shelf = await lost(story, 'My money')
      const tenant = shelf.forTenant('acme')
      const saved = (await tenant.getSnapshot('ann-1')) as { readonly state: object }
      await tenant.putSnapshot('ann-1', { ...saved, state: { ...saved.state, owner } } as never)
      const scopes: unknown[] = []
      const asked: unknown[] = []
      const tool = defineTool({
        ...{ name: 'refund', description: 'Refund', input: z.object({ cents: z.number() }), approval: 'required' },
        run: (_, { scope }) => void scopes.push(scope),
      })
      const runtime = story.start({
        agents: [helper(tool)],
        persistence: storeSnapshots(story.reopen(shelf)),
        authorize: ({ conversation }) => asked.push(conversation?.owner) > 0,
      })
      const caller = owner === 'system' ? scopeOf('ann') : (systemScope('acme') as Scope)
      const chat = runtime.as(caller).conversation('ann-1', { agent: 'helper' })
      await chat.continue()
      await chat.approve((await chat.view()).pending[0]!)
      expect(await chat.outcome()).toMatchObject({ status: 'completed' })
      expect(scopes).toEqual([expect.objectContaining({ ...actor, system: false })])
      expect(await runtime.store.forTenant('acme').getConversation('ann-1')).toMatchObject({ owner })
      expect(asked.slice(0, 2)).toEqual(owner === 'system' ? [undefined, 'system'] : [])
    },
  )

  test('belongs to the user who forked it, where it is a fork', async () => {
    const shelf = story.openStore()
    const old = story.start({ agents: [helper()], persistence: storeSnapshots(shelf) })
    await (await old.as(scopeOf('ann')).conversation('ann-1', { agent: 'helper' }).send('Hi')).outcome()
    const fork = await old.as(scopeOf('bob')).conversation('ann-1').fork({ id: 'bobs' })
    await (await fork.send('Mine now')).outcome()
    await old.close()
    const runtime = found(shelf, byFilter)
    const send = (user: string) => runtime.as(scopeOf(user)).conversation('bobs', { agent: 'helper' }).send('Hi')
    await expect(send('ann')).rejects.toMatchObject({ code: 'conversation_exists' })
    await (await send('bob')).outcome()
    expect((await runtime.as(scopeOf('bob')).conversation('bobs').view()).messages).toHaveLength(6)
  })

  test('of an earlier version has no owner, and is given only to those who may have what no one owns', async () => {
    const shelf = await lost(story)
    const tenant = shelf.forTenant('acme')
    const saved = (await tenant.getSnapshot('ann-1')) as { readonly state: { readonly owner?: string } }
    const { owner, ...state } = saved.state
    expect(owner).toBe('ann')
    await tenant.putSnapshot('ann-1', { ...saved, state } as never)
    const send = async (authorize: Authorize) =>
      found(shelf, authorize).as(scopeOf('ann')).conversation('ann-1', { agent: 'helper' }).send('Hi')
    await expect(send(byFilter)).rejects.toMatchObject({ code: 'conversation_exists' })
    await expect(send(byPredicate)).rejects.toMatchObject({ code: 'conversation_exists' })
    await (await send(() => 'all')).outcome()
  })

  test('is asked about again where another user opened the id while it was loaded', async () => {
    const model = scriptedModel(() => 'Done.')
    const store = story.openStore()
    const mine = {
      version: 3,
      seq: 1,
      phase: 'idle',
      title: null,
      summary: 'Mine',
      owner: 'bob',
      turns: [],
      messages: [],
    }
    const runtime = story.start({
      agents: [defineAgent({ name: 'helper', model })],
      store,
      authorize: byPredicate,
      persistence: {
        persistState: () => {},
        async loadState(scope) {
          if (userOf(scope!) === 'ann') return null
          await (await runtime.as(scopeOf('ann')).conversation('x', { agent: 'helper' }).send('Mine')).outcome()
          return mine
        },
      },
    })
    const sending = runtime.as(scopeOf('bob')).conversation('x', { agent: 'helper' }).send('Hi', { whenBusy: 'queue' })
    await expect(sending).rejects.toMatchObject({ code: 'conversation_exists' })
    expect(model.calls.map(({ prompt }) => linesOf(prompt))).toEqual([['user: Mine']])
  })
})

/** What a caller learns of a verb. */
async function toldBy(verb: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await verb }
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    return { code, message }
  }
}

async function post(runtime: unknown, path: string): Promise<[number, string]> {
  const handler = createHandler(runtime as Runtime, { authenticate: () => scopeOf('bob'), logger: silentLogger })
  const uiMessage = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }
  const body = path.startsWith('/ui/')
    ? { id: 'ann-1', messages: [uiMessage], trigger: 'submit-message' }
    : path.endsWith('continue')
      ? {}
      : { message: 'Hi', agent: 'helper' }
  const response = await handler(
    new Request(`http://localhost${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', host: 'localhost' },
      body: JSON.stringify(body),
    }),
  )
  const text = await response.text()
  handler.close()
  return [response.status, text]
}
