import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import { createScope, systemScope } from '../../src/define/scope.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { until } from './until.ts'

// Polling is no help in these stories: what waits is found when a slot becomes free.
const seldom = { pollMs: 60_000, leaseMs: 60_000 }
const settings = {
  ...seldom,
  tenant: (scope: { tenant?: string }) => scope.tenant ?? 'default',
  restoreScope: systemScope,
}

overStores('limits of turns', (story) => {
  test('a tenant runs as many turns at once as it may; the others wait, are recorded, and go on when one ends', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'support', model })
    const runtime = story.start({ agents: [agent], limits: { turnsPerTenant: 2 }, ...seldom })
    const turns = []
    for (const id of ['c1', 'c2', 'c3', 'c4']) turns.push(await runtime.conversation(id, { agent: 'support' }).send(id))
    await model.called(2)
    expect(await runtime.store.streamEvents('c4')).toHaveLength(1)
    expect(await runtime.inspect('c4').waitsFor()).toBe('tenant')
    expect(await runtime.inspect('c1').waitsFor()).toBe(null)
    expect(model.calls).toHaveLength(2)
    model.calls[0]!.answer('one')
    await model.answer(3, 'three')
    await model.answer(4, 'four')
    model.calls[1]!.answer('two')
    const outcomes = await Promise.all(turns.map((turn) => turn.outcome()))
    expect(outcomes.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed', 'completed'])
  })

  test('a tenant at its limit holds up no other', async () => {
    const model = pacedModel()
    const agent = defineAgent({ name: 'support', model })
    const runtime = createRuntimeOf(story.openStore(), {
      agents: [agent],
      limits: { turnsPerTenant: (tenant: string) => (tenant === 'big' ? 1 : 5) },
    })
    const [big, small] = ['big', 'small'].map((tenant) => runtime.as(createScope({ tenant, user: 'u' })))
    for (let n = 0; n < 5; n++) await big!.conversation(`b${n}`, { agent: 'support' }).send('hi')
    await model.called(1)
    const turn = await small!.conversation('s', { agent: 'support' }).send('hi')
    await model.answer(2, 'done')
    expect((await turn.outcome()).status).toBe('completed')
    expect(model.calls).toHaveLength(2)
    model.calls[0]!.answer('go on')
    for (let n = 3; n <= 6; n++) await model.answer(n, 'done')
    await runtime.close()
  })

  test('an agent and an account have limits over all tenants and all nodes', async () => {
    const store = story.openStore()
    const model = pacedModel()
    const agents = [
      defineAgent({ name: 'one', model, limits: { turns: 1 }, account: 'openai' }),
      defineAgent({ name: 'other', model, account: 'openai' }),
    ]
    const limits = { accounts: { openai: { turns: 2 } } }
    const first = story.start({ agents, store, limits, ...seldom })
    const second = story.start({ agents, store: story.reopen(store), limits, ...seldom })
    await first.conversation('a', { agent: 'one' }).send('hi')
    await model.called(1)
    const waiting = await second.conversation('b', { agent: 'one' }).send('hi')
    await second.conversation('c', { agent: 'other' }).send('hi')
    await model.called(2)
    const last = await first.conversation('d', { agent: 'other' }).send('hi')
    expect(model.calls).toHaveLength(2)
    model.calls[0]!.answer('a')
    await model.called(3)
    model.calls[1]!.answer('c')
    await model.called(4)
    for (const call of model.calls.slice(2)) call.answer('done')
    expect((await waiting.outcome()).status).toBe('completed')
    expect((await last.outcome()).status).toBe('completed')
  })

  test('what waits for a person holds no slot', async () => {
    const refund = defineTool({
      name: 'refund',
      description: 'r',
      input: { type: 'object' },
      approval: 'required',
      run: async () => 'paid',
    })
    const model = scriptedModel(({ n }) => (n === 1 ? { calls: [{ tool: 'refund', args: {} }] } : 'ok'))
    const agent = defineAgent({ name: 'support', model, tools: [refund], limits: { turns: 1 } })
    const runtime = story.start({ agents: [agent], ...seldom })
    const asking = await runtime.conversation('asks', { agent: 'support' }).send('refund')
    const outcome = await asking.outcome()
    expect(outcome.status).toBe('waiting')
    const next = await runtime.conversation('next', { agent: 'support' }).send('hi')
    expect((await next.outcome()).status).toBe('completed')
    if (outcome.status === 'waiting')
      await runtime.conversation('asks', { agent: 'support' }).approve(outcome.pending[0]!)
    expect((await asking.outcome()).status).toBe('completed')
  })

  test('a parent and its child need no second slot, and neither does a cancel', async () => {
    const child = defineAgent({ name: 'child', model: scriptedModel(['of the child', 'again']) })
    const parentModel = scriptedModel(({ n }) =>
      n === 1 ? { calls: [{ tool: 'ask', args: { message: 'help' } }] } : 'done',
    )
    const ask = defineTool({
      name: 'ask',
      description: 'asks',
      input: { type: 'object' },
      executor: 'agent',
      agent: child,
    })
    const parent = defineAgent({ name: 'parent', model: parentModel, tools: [ask] })
    const stuck = pacedModel()
    const slow = defineAgent({ name: 'slow', model: stuck })
    const runtime = story.start({ agents: [parent, slow], limits: { turnsPerTenant: 1 }, ...seldom })
    const turn = await runtime.conversation('p', { agent: 'parent' }).send('go')
    expect((await turn.outcome()).status).toBe('completed')
    await runtime.conversation('s', { agent: 'slow' }).send('go')
    await stuck.called(1)
    const waiting = await runtime.conversation('w', { agent: 'slow' }).send('go')
    await runtime.conversation('w', { agent: 'slow' }).cancel()
    expect((await waiting.outcome()).status).toBe('cancelled')
    expect(stuck.calls).toHaveLength(1)
    stuck.calls[0]!.answer('done')
  })

  test('without limits no statement is different', async () => {
    const agent = defineAgent({ name: 'support', model: scriptedModel(() => 'ok') })
    const names = async (limits: object) => {
      const asked: string[] = []
      const store = counting(story.openStore(), asked)
      const runtime = story.start({ agents: [agent], store, ...seldom, ...limits })
      await until(() => asked.includes('claimDue'))
      asked.length = 0
      const turn = await runtime.conversation('c1', { agent: 'support' }).send('hi')
      await turn.outcome()
      await runtime.close()
      return asked
    }
    const plain = await names({})
    expect(plain.filter((name) => name !== 'commit' && name !== 'commit with limits')).toEqual([])
    expect(plain).not.toContain('commit with limits')
    expect(await names({ limits: { turnsPerTenant: 5 } })).toContain('commit with limits')
  })
})

function createRuntimeOf(store: Store, options: object) {
  return createRuntime({ store, ...settings, ...options } as never) as ReturnType<typeof createRuntime>
}

function counting(store: Store, asked: string[]): Store {
  const watched = ['commit', 'claimLease', 'claimDue', 'releaseLease'] as const
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (object, name) => {
        const member = Reflect.get(object, name) as unknown
        if (name === 'forTenant') return (tenant: string) => wrap(store.forTenant(tenant))
        if (name === 'accounts' && member) {
          asked.push('accounts')
          return member
        }
        if (typeof member !== 'function' || !watched.includes(name as never)) return member
        return (...args: unknown[]) => {
          const isLimited =
            name === 'commit' && (args[1] as { acquire?: { limits?: object } }).acquire?.limits !== undefined
          asked.push(isLimited ? 'commit with limits' : String(name))
          return (member as (...given: unknown[]) => unknown).apply(object, args)
        }
      },
    })
  return wrap(store)
}
