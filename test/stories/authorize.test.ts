import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { createScope, type Scope, systemScope } from '../../src/define/scope.ts'
import { childIdOf } from '../../src/log/child-call.ts'
import type { AuthorizeRequest, AuthorizeVerdict } from '../../src/runtime/authorize/authorize.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { refund } from '../support/asking-tools.ts'
import { childTool } from './child-agents.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { nextMillisecond } from './until.ts'

const scopeOf = (user: string): Scope => createScope({ user, tenant: 'acme' }) as Scope
const userOf = (scope: Scope): string => (scope as { readonly user: string }).user

/** Everybody has what they opened. */
const byOwner = ({ scope, conversation }: AuthorizeRequest): AuthorizeVerdict =>
  conversation === null || conversation.owner === userOf(scope)

const helper = () =>
  defineAgent({
    name: 'helper',
    model: scriptedModel(({ prompt }) =>
      JSON.stringify(prompt.at(-1)).includes('money') ? { calls: [{ tool: 'refund', args: { cents: 7 } }] } : 'Done.',
    ),
    tools: [refund],
  })

overStores('authorize', (story) => {
  const start = (authorize: (request: AuthorizeRequest) => AuthorizeVerdict | Promise<AuthorizeVerdict> = byOwner) =>
    story.start({ agents: [helper()], pollMs: 20, authorize })

  test('lets each of two users work on what they opened, and hides what the other did', async () => {
    const runtime = start()
    const [ann, bob] = [runtime.as(scopeOf('ann')), runtime.as(scopeOf('bob'))]
    const turn = await ann.conversation('a', { agent: 'helper' }).send('My money')
    const call = await onlyPendingOf(turn)
    await (await bob.conversation('b', { agent: 'helper' }).send('Hi')).outcome()
    expect(await bob.conversation('a').events()).toEqual([])
    expect(await bob.inspect('a').record()).toBe(null)
    await expect(bob.conversation('a').approve(call)).rejects.toMatchObject({ code: 'call_not_found' })
    await expect(bob.resolve('a', call, true)).rejects.toMatchObject({ code: 'call_not_found' })
    await expect(bob.conversation('a').note('seen', 1)).rejects.toMatchObject({ code: 'conversation_not_found' })
    expect(await bob.conversation('a').delete()).toBe(false)
    await expect(bob.conversation('a', { agent: 'helper' }).send('Hi')).rejects.toMatchObject({
      code: 'conversation_exists',
      message: "A conversation 'a' already exists. Choose another id.",
    })
    await expect(bob.conversation('a').send('Hi')).rejects.toMatchObject({ code: 'agent_missing' })
    expect((await bob.conversations()).map(({ id, owner }) => [id, owner])).toEqual([['b', 'bob']])
    expect(await bob.inbox()).toHaveLength(0)
    expect(await ann.inbox()).toMatchObject([{ callId: call.callId }])
    expect(await ann.conversation('a').approve(call)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(await ann.inspect('a').record()).toMatchObject({ owner: 'ann' })
  })

  test('a search finds what may be read, and does not tell by its cursor which words hidden titles have', async () => {
    const runtime = start()
    const [ann, bob] = [runtime.as(scopeOf('ann')), runtime.as(scopeOf('bob'))]
    await (await bob.conversation('bobs', { agent: 'helper' }).send('Hi')).outcome()
    await bob.conversation('bobs').rename('Lunch "A"')
    for (let n = 0; n < 11; n++) {
      await nextMillisecond()
      await (await ann.conversation(`anns-${n}`, { agent: 'helper' }).send('Hi')).outcome()
      await ann.conversation(`anns-${n}`).rename('The merger')
    }
    const search = async (text: string) => {
      const { length, before } = await bob.conversations({ text, limit: 1 })
      return { length, hasMore: before !== null }
    }
    expect(await search('merger')).toEqual(await search('nothing like it'))
    for (const text of ['lunch "a', 'OBS'])
      expect((await bob.conversations({ text })).map(({ id }) => id)).toEqual(['bobs'])
    await expect(bob.conversations({ text: '' })).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  test('is asked before a known key', async () => {
    let isOpen = true
    const runtime = start(() => isOpen)
    const chat = runtime.as(scopeOf('ann')).conversation('a', { agent: 'helper' })
    const { turnId } = await chat.send('Hi', { key: 'k' })
    expect((await chat.send('Hi', { key: 'k' })).turnId).toBe(turnId)
    isOpen = false
    await expect(chat.send('Hi', { key: 'k' })).rejects.toMatchObject({ code: 'conversation_exists' })
  })

  test('is not asked about the system, nor about what the engine does', async () => {
    const asked: string[] = []
    const runtime = start(({ action }) => {
      asked.push(action)
      return false
    })
    const turn = await runtime
      .as(systemScope('acme') as Scope)
      .conversation('a', { agent: 'helper' })
      .send('Hi')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(asked).toEqual([])
    const forged = { ...createScope({ user: 'bob', tenant: 'acme' }), system: true } as unknown as Scope
    expect(await runtime.as(forged).conversation('a').events()).toEqual([])
    expect(asked).toEqual(['read'])
  })

  test('with a filter, lists and the inbox read only what the owner has, page by page', async () => {
    const runtime = start(({ scope, action }) =>
      action === 'list' ? { owner: userOf(scope) } : byOwner({ scope, action, conversation: null }),
    )
    const tenant = runtime.store.forTenant('acme')
    for (const place of [1, 2, 3]) {
      for (const user of ['ann', 'bob']) {
        const said = { turnId: 't', message: { parts: [] }, options: {}, who: user }
        await tenant.commit(`${user}-${place}`, { events: [{ type: 'user_msg', content: said }], wakeAt: null })
        await tenant.upsertToolCall(`${user}-${place}`, { id: `call-${user}-${place}`, name: 'refund' })
        await nextMillisecond()
      }
    }
    const bob = runtime.as(scopeOf('bob'))
    const first = await bob.conversations({ limit: 2 })
    expect(first.map(({ id }) => id)).toEqual(['bob-3', 'bob-2'])
    expect(first.before).toBe(undefined)
    expect((await bob.conversations({ limit: 2, before: 'bob-2' })).map(({ id }) => id)).toEqual(['bob-1'])
    expect((await bob.inbox({ limit: 2 })).map(({ callId }) => callId)).toEqual(['call-bob-3', 'call-bob-2'])
    expect(await bob.conversations({ owner: 'ann' })).toEqual([])
    expect(await bob.inbox({ owner: 'ann' })).toEqual([])
    const none = await runtime.as(scopeOf('nobody-yet')).totals()
    expect(await bob.totals({ owner: 'ann' })).toEqual(none)
    expect(await bob.totals({ owner: 'bob' })).toEqual(await bob.totals())
    expect(await bob.totals()).not.toEqual(none)
    await expect(bob.conversations({ before: 'ann-2' })).rejects.toMatchObject({ code: 'conversation_not_found' })
    await expect(bob.inbox({ before: 'call-ann-2' })).rejects.toMatchObject({ code: 'call_not_found' })
  })

  test('lets a filter open what its owner opens, and nothing in the name of others', async () => {
    const runtime = start(({ scope }) => ({ owner: userOf(scope) === 'bob' ? 'ann' : userOf(scope) }))
    const [ann, bob] = [runtime.as(scopeOf('ann')), runtime.as(scopeOf('bob'))]
    await (await ann.conversation('a', { agent: 'helper' }).send('Hi')).outcome()
    expect((await bob.conversations()).map(({ id }) => id)).toEqual(['a'])
    expect(await bob.conversation('a').view()).toMatchObject({ messages: [{}, {}] })
    await expect(bob.conversation('b', { agent: 'helper' }).send('Hi')).rejects.toMatchObject({
      code: 'conversation_exists',
    })
    expect(await runtime.store.forTenant('acme').getConversation('b')).toBe(null)
  })

  test('with a predicate, a page looks at ten times its limit, and its cursor tells nothing', async () => {
    let asked = 0
    const runtime = start((request) => {
      if (request.action === 'read') asked += 1
      return byOwner(request)
    })
    const tenant = runtime.store.forTenant('acme')
    for (let place = 1; place <= 25; place++) {
      const who = place === 1 ? 'bob' : 'ann'
      const said = { turnId: 't', message: { parts: [] }, options: {}, who }
      await tenant.commit(`c-${place}`, { events: [{ type: 'user_msg', content: said }], wakeAt: null })
    }
    const bob = runtime.as(scopeOf('bob'))
    const pages: string[][] = []
    const cursors: string[] = []
    for (let before: string | null | undefined; before !== null && pages.length < 9; ) {
      asked = 0
      const page = await bob.conversations({ limit: 1, ...(before === undefined ? {} : { before }) })
      expect(asked).toBeLessThanOrEqual(10)
      pages.push(page.map(({ id }) => id))
      before = page.before
      if (before) cursors.push(before)
    }
    expect(pages.flat()).toEqual(['c-1'])
    expect(pages.length).toBeGreaterThanOrEqual(3)
    expect(new Set(cursors.map(({ length }) => length)).size).toBe(1)
    for (const cursor of cursors) expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toMatch(/c-\d/)
    // A cursor is good for its own list, user and tenant, and an id is none.
    for (const before of ['c-9', `${cursors[0]}x`, '', cursors[0]!.slice(0, 10)]) {
      await expect(bob.conversations({ before })).rejects.toMatchObject({ code: 'invalid_argument' })
    }
    await expect(bob.inbox({ before: cursors[0]! })).rejects.toThrow(/is not a cursor of this list/)
    await expect(runtime.as(scopeOf('cid')).conversations({ before: cursors[0]! })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    const elsewhere = runtime.as(createScope({ user: 'bob', tenant: 'other' }) as Scope)
    await expect(elsewhere.conversations({ before: cursors[0]! })).rejects.toThrow(/is not a cursor of this list/)
    for (const id of (await tenant.listConversations()).map((record) => record.id)) await tenant.deleteConversation(id)
    const gone = await bob.conversations({ before: cursors[0]! }).catch((error: Error) => error.message)
    expect(gone).toMatch(/begin with the first page/)
    expect(gone).not.toMatch(/c-\d/)
  })

  test('makes a fork belong to the user who forked it, and shows a lineage up to what is hidden', async () => {
    let isShared = true
    const runtime = start((request) => byOwner(request) || (isShared && request.action !== 'list'))
    const [ann, bob] = [runtime.as(scopeOf('ann')), runtime.as(scopeOf('bob'))]
    await (await ann.conversation('a', { agent: 'helper' }).send('Hi')).outcome()
    const fork = await bob.conversation('a').fork({ id: 'f' })
    expect(await bob.inspect('f').record()).toMatchObject({ owner: 'bob', parent: { id: 'a' } })
    expect(await fork.lineage()).toMatchObject([{ id: 'a' }])
    isShared = false
    expect(await fork.lineage()).toEqual([])
    expect(await bob.conversation('f').view()).toMatchObject({ conversationId: 'f', messages: [{}, {}] })
    expect(await ann.conversation('f').events()).toEqual([])
    expect(await ann.conversation('a').forks()).toEqual([])
  })

  test('judges a child agent as the conversation that callers talk to', async () => {
    const clerk = defineAgent({
      name: 'clerk',
      model: scriptedModel(() => ({ calls: [{ tool: 'refund', args: { cents: 7 } }] })),
      tools: [refund],
    })
    const boss = defineAgent({
      name: 'boss',
      model: scriptedModel(() => ({ calls: [{ tool: 'clerk', args: { task: 'pay' } }] })),
      tools: [childTool('clerk', clerk)],
    })
    const judged: (string | null)[] = []
    const runtime = story.start({
      agents: [boss, helper()],
      pollMs: 20,
      authorize(request) {
        judged.push(request.conversation?.id ?? null)
        return byOwner(request)
      },
    })
    const [ann, bob] = [runtime.as(scopeOf('ann')), runtime.as(scopeOf('bob'))]
    const turn = await ann.conversation('a', { agent: 'boss' }).send('My money')
    const call = await onlyPendingOf(turn)
    const [item] = await ann.inbox()
    const childId = item!.conversationId
    expect(childId).not.toBe('a')
    expect(await ann.inspect(childId).record()).toMatchObject({ owner: 'ann', parent: { id: 'a' } })
    judged.length = 0
    expect((await ann.conversation(childId).events()).length).toBeGreaterThan(0)
    expect(judged).toEqual(['a'])
    expect(await bob.conversation(childId).events()).toEqual([])
    expect(await bob.inbox()).toEqual([])
    expect(await bob.conversations()).toEqual([])
    await expect(bob.conversation(childId, { agent: 'boss' }).send('Hi')).rejects.toMatchObject({
      code: 'conversation_exists',
    })
    await expect(bob.conversation('b').approve(call)).rejects.toMatchObject({ code: 'call_not_found' })
    await (await bob.conversation('b', { agent: 'helper' }).send('Hi')).outcome()
    const unborn = childIdOf(`${call.callId}-next`)
    await runtime.store
      .forTenant('acme')
      .upsertToolCall('a', { id: `${call.callId}-next`, name: 'clerk', executor: 'agent' })
    for (const id of [childId, unborn]) {
      const taken = {
        code: 'conversation_exists',
        message: `A conversation '${id}' already exists. Choose another id.`,
      }
      await expect(bob.conversation('b').fork({ id })).rejects.toMatchObject(taken)
    }
    expect(await ann.conversation('a').deny(call)).toEqual({ accepted: true })
  })

  test('never adds a message to a conversation that another user opened since it was asked', async () => {
    let letBobGo = (): void => {}
    const bobWaits = new Promise<void>((resolve) => {
      letBobGo = resolve
    })
    let bobsTimes = 0
    const runtime = start(async (request) => {
      if (userOf(request.scope) === 'bob' && request.action === 'send' && ++bobsTimes === 1) await bobWaits
      return byOwner(request)
    })
    const sending = runtime
      .as(scopeOf('bob'))
      .conversation('x', { agent: 'helper' })
      .send('Mine', { whenBusy: 'queue' })
    await (await runtime.as(scopeOf('ann')).conversation('x', { agent: 'helper' }).send('Hi')).outcome()
    letBobGo()
    await expect(sending).rejects.toMatchObject({ code: 'conversation_exists' })
    expect(bobsTimes).toBe(2)
    const said = (await runtime.as(scopeOf('ann')).conversation('x').events()).filter(({ type }) => type === 'user_msg')
    expect(said).toHaveLength(1)
  })

  test('is asked again by streams, which end when it says no and fail when it throws', async () => {
    let verdict: boolean | 'throws' = true
    const runtime = story.start({
      agents: [helper()],
      pollMs: 20,
      clock: hurried,
      authorize(request) {
        if (verdict === 'throws') throw new Error('no connection')
        return request.action === 'send' || verdict
      },
    })
    const chat = runtime.as(scopeOf('ann')).conversation('a', { agent: 'helper' })
    const turn = await chat.send('My money')
    await onlyPendingOf(turn)
    for (const taken of [false, 'throws'] as const) {
      verdict = true
      const watching = seen(chat.watch())
      await new Promise((resolve) => setTimeout(resolve, 100))
      verdict = taken
      const { error } = await watching
      expect(error).toEqual(taken === 'throws' ? expect.objectContaining({ code: 'authorize_failed' }) : null)
    }
  })
})

/** Asks again after 20 milliseconds instead of 30 seconds. */
const hurried: Clock = {
  ...systemClock,
  after: (delayMs, callback) => systemClock.after(delayMs === 30_000 ? 20 : delayMs, callback),
}

async function seen(stream: AsyncIterable<unknown>): Promise<{ count: number; error: unknown }> {
  let count = 0
  try {
    for await (const _ of stream) count += 1
    return { count, error: null }
  } catch (error) {
    return { count, error }
  }
}
