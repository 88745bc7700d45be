import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope } from '../../src/define/scope.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { examineStore } from '../../src/upkeep/examine-store.ts'
import { overStores, type StoryContext } from './over-stores.ts'
import { onlyPendingOf } from './pending-of.ts'
import { until } from './until.ts'

vi.setConfig({ testTimeout: 30_000 })

const ann = createScope({ user: 'ann', tenant: 'acme' })
const quick = { leaseMs: 1_000, pollMs: 20 }

/** A directory of users that can be down. `asked`: how often it was. */
function directory() {
  const it = {
    isDown: false,
    asked: 0,
    restoreScope: (tenant: string, user: string) => {
      it.asked += 1
      if (it.isDown) throw new Error('the directory at postgres://root:hunter2@db is down')
      return createScope({ tenant, user })
    },
  }
  return it
}

function bank() {
  const seen: (string | undefined)[] = []
  const transfer = defineTool({
    name: 'transfer',
    description: 'Move money',
    input: z.object({}),
    approval: 'required',
    run: (_, { scope }) => {
      seen.push(scope.user)
      return 'moved'
    },
  })
  const model = scriptedModel(({ prompt }) =>
    prompt.some((message) => message.role === 'tool') ? 'Done.' : { calls: [{ tool: 'transfer', args: {} }] },
  )
  return { agent: defineAgent({ name: 'bank', model, tools: [transfer] }), model, seen }
}

function start(story: StoryContext) {
  const users = directory()
  const it = bank()
  const errors: string[] = []
  const logger = { ...silentLogger, error: (text: string) => void errors.push(text) }
  const options = { agents: [it.agent], restoreScope: users.restoreScope, logger, ...quick }
  const data = story.openStore()
  const runtime = story.start({ ...options, store: data })
  const api = story.start({ ...options, store: story.reopen(data), work: false })
  return { ...it, users, errors, options, data, runtime, api, chat: api.as(ann).conversation('c1', { agent: 'bank' }) }
}

overStores('a turn whose scope cannot be restored', (story) => {
  test('waits where everyone sees it, starts nothing, and goes on when it can', async () => {
    const { users, seen, model, api, data, chat, errors } = start(story)
    const turn = await chat.send('move it')
    const call = await onlyPendingOf(turn)
    users.isDown = true
    await chat.approve(call)
    const problem = { code: 'scope_missing', message: expect.stringContaining("'ann'") }
    await until(async () => (await chat.view()).problem)
    expect((await chat.view()).problem).toEqual({ ...problem, who: 'ann', at: expect.any(Number) })
    expect(await api.as(ann).conversations()).toMatchObject([{ id: 'c1', status: 'active', problem }])
    const found = await examine(data)
    expect(found).toEqual(['scope_missing'])
    await until(async () => users.asked >= 3)
    const events = await chat.events()
    expect(events.filter(({ type }) => type === 'scope_missing')).toMatchObject([
      { content: { turnId: turn.turnId, who: 'ann', reason: expect.stringContaining('the directory') } },
    ])
    expect(JSON.stringify(events)).not.toContain('hunter2')
    expect(events.some(({ type }) => type === 'tool_started')).toBe(false)
    expect(errors).toEqual(['a turn waits: its scope could not be restored'])
    expect(seen).toEqual([])
    users.isDown = false
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(seen).toEqual(['ann'])
    expect(model.calls).toHaveLength(2)
    expect((await chat.view()).problem).toBeUndefined()
    const [record] = await api.as(ann).conversations()
    expect(record).not.toHaveProperty('problem')
    expect(await examine(data)).toEqual([])
  })

  test('is not asked about by the model either', async () => {
    const { users, model, chat } = start(story)
    users.isDown = true
    const turn = await chat.send('move it')
    await until(async () => (await chat.view()).problem)
    expect(model.calls).toEqual([])
    users.isDown = false
    expect((await turn.outcome()).status).toBe('waiting')
    expect((await chat.view()).problem).toBeUndefined()
  })

  test('can be cancelled, and the turn after it runs once it can', async () => {
    const { users, chat, seen } = start(story)
    users.isDown = true
    const turn = await chat.send('move it')
    await until(async () => (await chat.view()).problem)
    expect(await chat.cancel()).toMatchObject({ status: 'cancelled', turnId: turn.turnId })
    expect((await chat.view()).problem).toBeUndefined()
    users.isDown = false
    const next = await chat.send('move it now')
    await chat.approve(await onlyPendingOf(next))
    expect(await next.outcome()).toMatchObject({ status: 'completed' })
    expect(seen).toEqual(['ann'])
  })

  test('is taken up by a process that can restore it', async () => {
    const { users, api, seen, options, data } = start(story)
    const chats = Array.from({ length: 8 }, (_, n) => api.as(ann).conversation(`c${n}`, { agent: 'bank' }))
    const turns = await Promise.all(chats.map((chat) => chat.send('move it')))
    const calls = await Promise.all(turns.map((turn) => onlyPendingOf(turn)))
    users.isDown = true
    await Promise.all(chats.map((chat, n) => chat.approve(calls[n]!)))
    await until(async () => users.asked >= 16)
    story.start({ ...options, restoreScope: directory().restoreScope, store: story.reopen(data) })
    for (const turn of turns) expect(await turn.outcome()).toMatchObject({ status: 'completed' })
    expect(seen).toEqual(turns.map(() => 'ann'))
    // The process that cannot leaves the others the first try.
    expect(users.asked).toBeLessThan(19)
  })

  test('is let go of at once by a process that ends while the scope is awaited', async () => {
    const { agent, model } = bank()
    const data = story.openStore()
    const restoreScope = () => new Promise<never>(() => {})
    const stuck = story.start({ agents: [agent], store: data, restoreScope, ...quick })
    const turn = await stuck.as(ann).conversation('c1', { agent: 'bank' }).send('move it')
    await until(async () => (await stuck.store.forTenant('acme').acquireLease('c1', 'me', 1)) === null)
    await stuck.close({ drainMs: 0 })
    expect(model.calls).toEqual([])
    const next = story.start({ agents: [agent], store: story.reopen(data), ...quick })
    expect((await next.as(ann).conversation('c1').turn(turn.turnId).outcome()).status).toBe('waiting')
  })
})

async function examine(store: Parameters<typeof examineStore>[0]): Promise<string[]> {
  const codes: string[] = []
  await examineStore(store, { onFinding: ({ code }) => void codes.push(code) })
  return codes
}
