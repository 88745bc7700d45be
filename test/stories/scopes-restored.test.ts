import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { type BuiltinScope, createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { toolResults } from './tool-results.ts'

vi.setConfig({ testTimeout: 30_000 })

function bank() {
  const scopes: BuiltinScope[] = []
  const transfer = defineTool({
    name: 'transfer',
    description: 'Move money',
    input: z.object({ cents: z.number() }),
    approval: 'required',
    run: (_, { scope }) => {
      scopes.push(scope)
      return 'moved'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'transfer', args: { cents: 5 } }] },
  )
  return { agent: defineAgent({ name: 'bank', model, tools: [transfer] }), model, scopes }
}

const ann = createScope({ user: 'ann', tenant: 'acme', assigns: { limit: 1 } })
const boss = createScope({ user: 'boss', tenant: 'acme', assigns: { limit: 100 } })

overStores('the scope of a tool', (story) => {
  test('is that of the approver, as it was passed in the same process', async () => {
    const { agent, scopes } = bank()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.as(ann).conversation('c1', { agent: 'bank' }).send('move it')
    const call = await onlyPendingOf(turn)
    expect(await runtime.as(boss).conversation('c1').approve(call)).toEqual({ accepted: true })
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(scopes).toEqual([boss])
    expect(scopes[0]).toBe(boss)
  })

  test('is that of the sender of the message when no approval is needed', async () => {
    const scopes: BuiltinScope[] = []
    const look = defineTool({
      name: 'look',
      description: 'Look',
      input: z.object({}),
      run: (_, { scope }) => void scopes.push(scope),
    })
    const model = scriptedModel([{ calls: [{ tool: 'look', args: {} }] }, 'Done.'])
    const agent = defineAgent({ name: 'looker', model, tools: [look] })
    const turn = await story
      .start({ agents: [agent] })
      .as(ann)
      .conversation('c1', { agent: 'looker' })
      .send('look')
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(scopes[0]).toBe(ann)
  })

  test('is rebuilt from the stored id where the approver acted in another process', async () => {
    const { agent, scopes } = bank()
    const data = story.openStore()
    const office = story.start({ agents: [agent], store: data, work: false })
    const restored: string[] = []
    const worker = story.start({
      agents: [agent],
      store: story.reopen(data),
      restoreScope: (tenant, who) => {
        restored.push(`${tenant}/${who}`)
        return createScope({ user: who, tenant, assigns: { restored: true } })
      },
    })
    const turn = await office.as(ann).conversation('c1', { agent: 'bank' }).send('move it')
    await office
      .as(boss)
      .conversation('c1')
      .approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(scopes).toEqual([createScope({ user: 'boss', tenant: 'acme', assigns: { restored: true } })])
    expect(restored).toContain('acme/boss')
    await worker.close()
  })

  test('is a system scope of the tenant where it cannot be rebuilt', async () => {
    const { agent, scopes } = bank()
    const data = story.openStore()
    const office = story.start({ agents: [agent], store: data, work: false })
    story.start({ agents: [agent], store: story.reopen(data) })
    const turn = await office.as(ann).conversation('c1', { agent: 'bank' }).send('move it')
    await office
      .as(boss)
      .conversation('c1')
      .approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(scopes).toMatchObject([{ system: true, tenant: 'acme' }])
    expect(scopes[0]).not.toHaveProperty('user')
  })

  test.each([
    ['fails', () => Promise.reject(new Error('the directory is down'))],
    ['finds no user', () => undefined as never],
  ])('must be known: where restoring it %s the tool is not run, and the model is told', async (_, restore) => {
    const { agent, model, scopes } = bank()
    const data = story.openStore()
    const office = story.start({ agents: [agent], store: data, work: false })
    story.start({
      agents: [agent],
      store: story.reopen(data),
      restoreScope: (tenant, who) => (who === 'boss' ? restore() : createScope({ user: who, tenant })),
    })
    const turn = await office.as(ann).conversation('c1', { agent: 'bank' }).send('move it')
    await office
      .as(boss)
      .conversation('c1')
      .approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(scopes).toEqual([])
    const results = toolResults(model, 2)
    expect(results).toEqual([
      ['transfer', { type: 'error-text', value: 'It was not run: who it should run for could not be found out.' }],
    ])
  })

  test('never reaches the store: only the id of the acting user does', async () => {
    const { agent } = bank()
    const runtime = story.start({ agents: [agent] })
    const secret = createScope({ user: 'boss', assigns: { token: 'keep-me-out' } })
    const chat = runtime.as(secret).conversation('c1', { agent: 'bank' })
    const turn = await chat.send('move it')
    await chat.approve(await onlyPendingOf(turn))
    expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    const events = await chat.events()
    expect(JSON.stringify(events)).not.toContain('keep-me-out')
    expect(events.filter((event) => 'who' in event.content)).toMatchObject([
      { type: 'user_msg', content: { who: 'boss' } },
      { type: 'resolution', content: { who: 'boss' } },
    ])
  })

  test('of one tenant cannot name a call of another', async () => {
    const { agent, scopes } = bank()
    const runtime = story.start({ agents: [agent] })
    const turn = await runtime.as(ann).conversation('c1', { agent: 'bank' }).send('move it')
    const call = await onlyPendingOf(turn)
    const stranger = runtime.as(createScope({ user: 'boss', tenant: 'other' }))
    await expect(stranger.conversation('c1').approve(call)).rejects.toMatchObject({ code: 'call_not_found' })
    await expect(stranger.resolve('c1', call, true)).rejects.toMatchObject({ code: 'call_not_found' })
    expect(await stranger.inbox()).toEqual([])
    expect(await runtime.as(boss).inbox()).toHaveLength(1)
    expect(scopes).toEqual([])
  })
})
