import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope, type Scope, systemScope } from '../../src/define/scope.ts'
import type { Authorize } from '../../src/runtime/authorize/authorize.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

/** Everyone may look at everything, copy it and speak in it, and do the rest to what is their own. */
const authorize: Authorize = ({ scope, action, conversation }) =>
  ['read', 'list', 'fork', 'send'].includes(action) || conversation === null || conversation.owner === userOf(scope)

const userOf = (scope: Scope): string | undefined => (scope as { readonly user?: string }).user

/** A bank whose transfers wait for approval, with a desk that asks it. Tells for whom each call acts, with what, and who approved. */
function bank(story: StoryContext, expiresInMs?: number, options: object = {}) {
  const seen: unknown[] = []
  const transfer = defineTool({
    name: 'transfer',
    description: 'Move money',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    ...(expiresInMs === undefined ? {} : { expiresInMs }),
    run: ({ cents }, { scope, approval }) => void seen.push([userOf(scope), cents, approval?.who]),
  })
  const look = defineTool({
    name: 'look',
    description: 'Look',
    input: z.object({}),
    run: (_, { scope }) => void seen.push([userOf(scope), 'looks']),
  })
  const scripted = scriptedModel(({ prompt }) => {
    const said = JSON.stringify(prompt)
    const calls = said.split('tool-call').length - 1
    if (said.includes('look') && calls === 0) return { calls: [{ tool: 'look', args: {} }] }
    if (said.includes('move') && calls === 0) return { calls: [{ tool: 'transfer', args: { cents: 5 } }] }
    return calls === 1 && said.includes('expired') ? { calls: [{ tool: 'look', args: {} }] } : 'Done.'
  })
  const clerk = defineAgent({ name: 'bank', model: scripted, tools: [transfer, look] })
  const input = z.object({ message: z.string() })
  const ask = defineTool({ name: 'ask', description: 'Ask', input, executor: 'agent', agent: clerk })
  const asking = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ tool: 'ask', args: { message: 'look' } }] },
  )
  const desk = defineAgent({ name: 'desk', model: asking, tools: [ask] })
  const flow = defineFlow({
    name: 'paying',
    version: 1,
    async run(verbs) {
      await verbs.suspend('go on?')
      return (await verbs.agent('bank', { message: 'look' })).status
    },
  })
  const settings = { agents: [clerk, desk], flows: [flow], authorize, pollMs: 20, ...options }
  const runtime = story.start(settings) as unknown as Runtime
  const as = (user: string) => runtime.as(createScope({ user, tenant: 'acme' }))
  const chat = (user: string, id: string, agent = 'bank') => as(user).conversation(id, { agent }) as never as Chat
  return { seen, runtime, as, chat, flow }
}

type Chat = ReturnType<Runtime['conversation']>

overStores('what a fork has copied', (story) => {
  test('acts for the user who forked it, and never for the one whose turn it was', async () => {
    const { seen, chat } = bank(story)
    const anns = await chat('ann', 'c1').send('move it')
    const call = await onlyPendingOf(anns)
    await chat('bob', 'c1').fork({ id: 'f1' })
    const forked = chat('bob', 'f1')
    const [copied] = (await forked.view()).pending
    await forked.approve(copied!, { args: { cents: 999 } })
    expect(await forked.turn(anns.turnId).outcome()).toMatchObject({ status: 'completed' })
    await chat('ann', 'c1').approve(call)
    expect(await anns.outcome()).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([
      ['bob', 999, 'bob'],
      ['ann', 5, 'ann'],
    ])
  })

  test('acts for that user on a node that finds it due, which reads no row for it', async () => {
    const store = story.openStore()
    const { chat } = bank(story, undefined, { store, work: false })
    const rows: string[] = []
    const { seen } = bank(story, undefined, { store: tellingOfRows(story.reopen(store), rows) })
    const anns = await chat('ann', 'c1').send('move it')
    await onlyPendingOf(anns)
    await chat('bob', 'c1').fork({ id: 'f1' })
    const forked = chat('bob', 'f1')
    const [copied] = (await forked.view()).pending
    await forked.approve(copied!, { args: { cents: 999 } })
    await until(async () => (await forked.view()).phase === 'idle')
    expect([seen, rows]).toEqual([[['bob', 999, 'bob']], []])
  })

  test('runs no call that was approved before it: an approval counts once, however often it is forked', async () => {
    const { seen, chat } = bank(story)
    const turn = await chat('ann', 'c1').send('move it')
    await chat('ann', 'c1').approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const approved = (await chat('ann', 'c1').events()).find(({ type }) => type === 'resolution')!
    for (const id of ['f1', 'f2']) {
      await chat('ann', 'c1').fork({ id, at: approved.seq })
      await chat('ann', id).continue()
      expect(await chat('ann', id).turn(turn.turnId).outcome()).toMatchObject({ status: 'completed' })
    }
    expect(seen).toEqual([['ann', 5, 'ann']])
  })

  test('acts for that user also where it is cut at the message and goes on from there, with a child agent', async () => {
    const { seen, chat } = bank(story)
    for (const agent of ['bank', 'desk']) {
      const anns = await chat('ann', `of-${agent}`, agent).send('look')
      expect(await anns.outcome()).toMatchObject({ status: 'completed' })
      await chat('bob', `of-${agent}`, agent).fork({ id: `fork-${agent}`, at: 1 })
      const forked = chat('bob', `fork-${agent}`, agent)
      await forked.continue()
      await forked.turn(anns.turnId).outcome()
      await until(async () => (await forked.view()).phase === 'idle')
    }
    expect(seen).toEqual(['ann', 'bob', 'ann', 'bob'].map((user) => [user, 'looks']))
  })

  test('acts for that user also beside a message that the user has sent there', async () => {
    const { seen, chat } = bank(story)
    const anns = await chat('ann', 'c1').send('move it')
    await onlyPendingOf(anns)
    await chat('bob', 'c1').fork({ id: 'f1' })
    const forked = chat('bob', 'f1')
    const next = await forked.send('look', { whenBusy: 'queue' })
    const [copied] = (await forked.view()).pending
    await forked.approve(copied!)
    await next.outcome()
    expect(seen[0]).toEqual(['bob', 5, 'bob'])
  })

  test('never acts as the system where a deadline had passed before', async () => {
    const { seen, chat } = bank(story, 50)
    const anns = await chat('ann', 'c1').send('move it')
    await onlyPendingOf(anns)
    await until(async () => (await chat('ann', 'c1').view()).phase === 'idle')
    const expired = (await chat('ann', 'c1').events()).find(({ type }) => type === 'resolution')!
    await chat('bob', 'c1').fork({ id: 'f1', at: expired.seq })
    await chat('bob', 'f1').continue()
    await until(async () => (await chat('bob', 'f1').view()).phase === 'idle')
    // Where no person has acted since, the deadline did.
    expect(seen).toEqual([
      [undefined, 'looks'],
      ['bob', 'looks'],
    ])
  })

  test('is steered by that user, and by no other', async () => {
    const { chat } = bank(story)
    await onlyPendingOf(await chat('ann', 'c1').send('move it'))
    await chat('bob', 'c1').fork({ id: 'f1' })
    const steering = await chat('bob', 'f1').send('to Carol', { whenBusy: 'steer' })
    const [copied] = (await chat('bob', 'f1').view()).pending
    expect(copied).toMatchObject({ turnId: steering.turnId })
    const queued = await chat('ann', 'f1').send('to Dan', { whenBusy: 'steer' })
    expect(queued.turnId).not.toBe(steering.turnId)
  })

  test('acts for the person whose turn it was where the application forked it', async () => {
    const { seen, chat, runtime } = bank(story)
    const anns = await chat('ann', 'c1').send('move it')
    await onlyPendingOf(anns)
    const system = runtime.as(systemScope('acme') as Scope)
    const copy = (await system.conversation('c1').fork({ id: 'f1' })) as never as Chat
    const [copied] = (await copy.view()).pending
    await copy.approve(copied!)
    expect(await copy.turn(anns.turnId).outcome()).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([['ann', 5, 'system']])
  })

  test('is a session that sends in the name of the user who forked it', async () => {
    const { seen, as, flow } = bank(story)
    await as('ann').flow(flow, 's1').start(null)
    await as('bob').flow(flow, 's1').fork('s2')
    expect(await as('bob').flow(flow, 's2').resume(true)).toMatchObject({ status: 'done' })
    expect(await as('ann').flow(flow, 's1').resume(true)).toMatchObject({ status: 'done' })
    expect(seen).toEqual([
      ['bob', 'looks'],
      ['ann', 'looks'],
    ])
  })
})

/** A store that notes the conversations whose rows are read. */
function tellingOfRows(store: Store, rows: string[]): Store {
  const forTenant = (tenant: string): TenantStore => {
    const handle = store.forTenant(tenant)
    const getConversation = (id: string) => {
      rows.push(id)
      return handle.getConversation(id)
    }
    return { ...handle, getConversation }
  }
  return { ...store, forTenant }
}
