import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { preHook } from '../../src/define/create-hook.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { type BuiltinScope, createScope, isSystemScope, type Scope, systemScope } from '../../src/define/scope.ts'
import type { Approval, Turn } from '../../src/define/turn.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

type Seen = { readonly scope: BuiltinScope; readonly approval: Approval | null }

/** An agent whose hook, instructions, model function, approval and tool all tell with which scope they were called. */
function bank() {
  const seen: Seen[] = []
  const others: string[] = []
  const told = (what: string) => (turn: Turn) => void others.push(`${what} ${turn.scope.user} ${turn.approval}`)
  const transfer = defineTool({
    name: 'transfer',
    description: 'Move money',
    input: z.object({ cents: z.number() }),
    approval: (_, turn) => {
      told('approval')(turn)
      return true
    },
    run: (_, { scope, approval }) => {
      seen.push({ scope, approval })
      return 'moved'
    },
  })
  const scripted = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'transfer', args: { cents: 5 } }] },
  )
  const agent = defineAgent({
    name: 'bank',
    model: (turn) => {
      told('model')(turn)
      return scripted
    },
    instructions: (turn) => {
      told('instructions')(turn)
      return 'Move what you are told to.'
    },
    tools: [transfer],
    hooks: [preHook('before', told('hook'))],
  })
  return { agent, model: scripted, seen, others }
}

const ann = createScope({ user: 'ann', tenant: 'acme' })
const boss = createScope({ user: 'boss', tenant: 'acme' })
const rebuilt = { user: 'ann', tenant: 'acme', assigns: {}, system: false, restored: true }
const approval = { who: 'boss', at: expect.any(Number) }
const quick = { leaseMs: 200, pollMs: 20 }
type Options = Partial<Parameters<StoryContext['start']>[0]>

/** One process; a node for callers beside one that works; a process that dies after the approval. Each gives what the tool saw. */
const lives: Readonly<Record<string, (story: StoryContext, options?: Options) => Promise<ReturnType<typeof bank>>>> = {
  async 'in one process'(story, options = {}) {
    const it = bank()
    const runtime = story.start({ agents: [it.agent], ...options })
    const turn = await runtime.as(ann).conversation('c1', { agent: 'bank' }).send('move it')
    await runtime
      .as(boss)
      .conversation('c1')
      .approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    return it
  },
  async 'behind a node that only takes messages'(story, options = {}) {
    const it = bank()
    const data = story.openStore()
    const office = story.start({ agents: [it.agent], store: data, work: false, ...options })
    story.start({ agents: [it.agent], store: story.reopen(data), ...options, ...quick })
    const turn = await office.as(ann).conversation('c1', { agent: 'bank' }).send('move it')
    await office
      .as(boss)
      .conversation('c1')
      .approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    return it
  },
  async 'after a crash between the approval and the run'(story, options = {}) {
    const it = bank()
    const data = story.openStore()
    const { store, kill } = mortalStore(data)
    const first = story.start({ agents: [it.agent], store, ...options, ...quick })
    const turn = await first.as(ann).conversation('c1', { agent: 'bank' }).send('move it')
    const call = await onlyPendingOf(turn)
    kill()
    const office = story.start({ agents: [it.agent], store: story.reopen(data), work: false, ...options })
    await office.as(boss).conversation('c1').approve(call)
    const second = story.start({ agents: [it.agent], store: story.reopen(data), ...options, ...quick })
    const again = second.as(ann).conversation('c1').turn(turn.turnId)
    expect(await again.outcome()).toMatchObject({ status: 'completed' })
    return it
  },
}

const restoreScope = (tenant: string, user: string) => createScope({ tenant, user, assigns: { plan: `of ${user}` } })

overStores('a tool acts for the person whose message opened the turn', (story) => {
  test.each(Object.keys(lives))('%s, and is told who approved', async (name) => {
    const { seen, others } = await lives[name]!(story)
    expect(seen).toEqual([{ scope: rebuilt, approval }])
    expect(new Set(others)).toEqual(
      new Set(['hook ann null', 'instructions ann null', 'model ann null', 'approval ann null']),
    )
  })

  test.each(Object.keys(lives))('%s, with what restoreScope returns', async (name) => {
    const { seen } = await lives[name]!(story, { restoreScope })
    expect(seen).toEqual([{ scope: restoreScope('acme', 'ann'), approval }])
  })

  test('without an approval: turn.approval is null', async () => {
    const seen: unknown[] = []
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({}),
      run: (_, turn) => void seen.push([turn.scope, turn.approval]),
    })
    const model = scriptedModel([{ calls: [{ tool: 'look', args: {} }] }, 'Done.'])
    const runtime = story.start({ agents: [defineAgent({ name: 'looker', model, tools: [look] })] })
    const turn = await runtime.as(ann).conversation('c1', { agent: 'looker' }).send('look')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([[rebuilt, null]])
  })

  test('also in a child agent and in what a session sends', async () => {
    const { agent, seen } = bank()
    const ask = defineTool({ name: 'ask', description: 'Ask', input: z.object({}), executor: 'agent', agent })
    const model = scriptedModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ tool: 'ask', args: {} }] },
    )
    const desk = defineAgent({ name: 'desk', model, tools: [{ ...ask }] as never })
    const flow = defineFlow({
      name: 'paying',
      version: 1,
      run: async (verbs) => (await verbs.agent('bank', { id: 'till', message: 'move it' })).status,
    })
    const runtime = story.start({ agents: [desk, agent], flows: [flow], restoreScope, ...quick })
    const turn = await runtime.as(ann).conversation('c1', { agent: 'desk' }).send('ask the bank')
    const session = runtime.as(ann).flow(flow, 's1').start(null)
    const items = await until(async () => {
      const found = await runtime.as(boss).inbox()
      return found.length === 2 ? found : null
    })
    for (const item of items) await runtime.as(boss).resolve(item.conversationId, item, true)
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(await session).toMatchObject({ status: 'done', result: 'completed' })
    const expected = { scope: restoreScope('acme', 'ann'), approval }
    expect(seen).toEqual([expected, expected])
  })

  test('never with the scope that the verb was called with, which never reaches the store either', async () => {
    const { agent, seen } = bank()
    const runtime = story.start({ agents: [agent], restoreScope })
    const secret = createScope({ user: 'ann', tenant: 'acme', assigns: { token: 'keep-me-out' } })
    const chat = runtime.as(secret).conversation('c1', { agent: 'bank' })
    const turn = await chat.send('move it')
    await chat.approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(seen).toMatchObject([{ scope: { assigns: { plan: 'of ann' } } }])
    const events = await chat.events()
    expect(JSON.stringify(events)).not.toContain('keep-me-out')
    expect(events.filter((event) => 'who' in event.content)).toMatchObject([
      { type: 'user_msg', content: { who: 'ann' } },
      { type: 'resolution', content: { who: 'ann' } },
    ])
  })

  test('so a scope with assigns is refused where nothing can rebuild them', async () => {
    const { agent } = bank()
    const flow = defineFlow({ name: 'paying', version: 1, run: async () => null })
    const runtime = story.start({ agents: [agent], flows: [flow] })
    const rich = runtime.as(createScope({ user: 'ann', assigns: { plan: 'pro' } }))
    const refused = { code: 'scope_not_restorable', message: expect.stringContaining('restoreScope') }
    await expect(rich.conversation('c1', { agent: 'bank' }).send('move it')).rejects.toMatchObject(refused)
    await expect(rich.flow(flow, 's1').start(null)).rejects.toMatchObject(refused)
    expect(await rich.conversations()).toEqual([])
    // Reading and answering lend no identity.
    await runtime
      .as(createScope({ user: 'ann' }))
      .conversation('c1', { agent: 'bank' })
      .send('move it')
    const [item] = await until(async () => {
      const found = await rich.inbox()
      return found.length > 0 ? found : null
    })
    expect(await rich.conversation('c1').approve(item!)).toEqual({ accepted: true })
  })

  test('and no user can be called system or anonymous', async () => {
    const { agent } = bank()
    const runtime = story.start({ agents: [agent] })
    for (const user of ['system', 'anonymous']) {
      expect(() => createScope({ user })).toThrow(expect.objectContaining({ code: 'invalid_definition' }))
      const forged = { user, assigns: {}, system: false }
      expect(() => runtime.as(forged).conversation('c1')).toThrow(
        expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining(`'${user}'`) }),
      )
    }
  })

  test('and never as the system for a scope that only reads like it', async () => {
    const { agent, seen } = bank()
    const runtime = story.start({ agents: [agent] })
    const forged = [{ tenant: 'acme', system: true }, { system: true }, { ...systemScope('acme') }] as Scope[]
    for (const scope of forged) {
      expect(() => runtime.as(scope).conversation('c1', { agent: 'bank' })).toThrow(
        expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining('systemScope()') }),
      )
      expect(isSystemScope(scope)).toBe(false)
    }
    expect(await runtime.store.forTenant('acme').listConversations()).toEqual([])
    expect(seen).toEqual([])
  })

  test('and as the system only where the system opened the turn', async () => {
    const { agent, seen } = bank()
    const runtime = story.start({ agents: [agent], restoreScope, tenant: ({ tenant }) => tenant ?? 'default' })
    const turn = await runtime.conversation('c1', { agent: 'bank' }).send('move it')
    await runtime
      .as(createScope({ user: 'boss' }))
      .conversation('c1')
      .approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([{ scope: systemScope('default'), approval }])
  })

  test('of one tenant cannot name a call of another', async () => {
    const { agent, seen } = bank()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.as(ann).conversation('c1', { agent: 'bank' }).send('move it')
    const call = await onlyPendingOf(turn)
    const stranger = runtime.as(createScope({ user: 'boss', tenant: 'other' }))
    await expect(stranger.conversation('c1').approve(call)).rejects.toMatchObject({ code: 'call_not_found' })
    await expect(stranger.resolve('c1', call, true)).rejects.toMatchObject({ code: 'call_not_found' })
    expect(await stranger.inbox()).toEqual([])
    expect(await runtime.as(boss).inbox()).toHaveLength(1)
    expect(seen).toEqual([])
  })
})
