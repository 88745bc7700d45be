import { expect, test } from 'vitest'
import { z } from 'zod'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineTool } from '../../src/define/define-tool.ts'
import type { Store } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { gate } from './gate.ts'
import { mortalStore } from './mortal-store.ts'
import { overStores } from './over-stores.ts'
import { recordedStore } from './recorded-store.ts'
import { until } from './until.ts'

const leaseMs = 300

overStores('the leases of a process that lives', (story) => {
  /** An agent whose tool takes as long as the test wants. */
  function worker() {
    const isDone = gate()
    let runs = 0
    const work = defineTool({
      name: 'work',
      description: 'Works',
      input: z.object({}),
      run: async () => {
        runs += 1
        await isDone.opened
        return 'done'
      },
    })
    const model = scriptedModel(({ prompt }) =>
      prompt.some(({ role }) => role === 'tool') ? 'Done.' : { calls: [{ tool: 'work', args: {} }] },
    )
    const agent = defineAgent({ name: 'worker', model, tools: [work] })
    return { agent, isDone, runs: () => runs }
  }

  /** Another process, which takes what it can. */
  const rival = (data: Store, agent: ReturnType<typeof worker>['agent']) =>
    story.start({ agents: [agent], store: story.reopen(data), leaseMs, pollMs: 20 })

  test('a runtime that drains for longer than its leases keeps them', async () => {
    const { agent, isDone, runs } = worker()
    const data = story.openStore()
    const node = story.start({ agents: [agent], store: data, leaseMs, pollMs: 20 })
    const { turnId } = await node.conversation('c1', { agent: 'worker' }).send('go')
    await until(() => runs() === 1)
    const other = rival(data, agent)
    const closing = node.close({ drainMs: 60_000 })
    await new Promise((resolve) => setTimeout(resolve, 3 * leaseMs))
    isDone.open()
    await closing
    expect(await other.conversation('c1').turn(turnId).outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    const results = (await data.streamEvents('c1')).filter(({ type }) => type === 'tool_result')
    expect(results).toMatchObject([{ content: { ok: true } }])
    expect(runs()).toBe(1)
  })

  test('a renewal that is never answered costs no lease', async () => {
    const { agent, isDone, runs } = worker()
    const data = story.openStore()
    let renewals = 0
    const hanging = new Proxy(data, {
      get(store, name) {
        const member: unknown = Reflect.get(store, name)
        if (name !== 'keepLeases' || typeof member !== 'function') return member
        return (...args: unknown[]) => {
          renewals += 1
          return renewals === 1 ? new Promise(() => {}) : member.apply(store, args)
        }
      },
    })
    const node = story.start({ agents: [agent], store: hanging, leaseMs, pollMs: 20 })
    const turn = await node.conversation('c1', { agent: 'worker' }).send('go')
    await until(() => runs() === 1)
    rival(data, agent)
    await until(() => renewals >= 8)
    isDone.open()
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    const results = (await data.streamEvents('c1')).filter(({ type }) => type === 'tool_result')
    expect(results).toMatchObject([{ content: { ok: true } }])
  })

  test('what others append is heard of by the renewal where the hint was lost, and nothing is read otherwise', async () => {
    const { agent, runs } = worker()
    const data = story.openStore()
    const { store: deaf, deafen } = mortalStore(data)
    const { store, counts } = recordedStore(deaf)
    const node = story.start({ agents: [agent], store, leaseMs, pollMs: 600_000 })
    const turn = await node.conversation('c1', { agent: 'worker' }).send('go')
    await until(() => runs() === 1)
    deafen()
    const readsBefore = { ...counts }
    await until(() => counts['keepLeases']! >= (readsBefore['keepLeases'] ?? 0) + 3)
    expect(counts['getConversation'] ?? 0).toBe(readsBefore['getConversation'] ?? 0)
    await story.reopen(data).commit('c1', {
      events: [{ type: 'cancel_requested', content: { turnId: turn.turnId, who: 'somebody' } }],
    })
    expect(await turn.outcome()).toMatchObject({ status: 'cancelled' })
  })

  test('a lease that is lost all the same is told of', async () => {
    const { agent, runs } = worker()
    const data = story.openStore()
    const { store, freeze } = mortalStore(data)
    const warnings: unknown[] = []
    const logger = {
      ...silentLogger,
      warn: (message: string, details?: object) => void warnings.push([message, details]),
    }
    const node = story.start({ agents: [agent], store, logger, leaseMs: 100, pollMs: 600_000 })
    await node.conversation('c1', { agent: 'worker' }).send('go')
    await until(() => runs() === 1)
    const thaw = freeze()
    await until(() => story.reopen(data).acquireLease('c1', 'another', 60_000))
    thaw()
    await until(() => warnings.length > 0)
    expect(warnings).toMatchObject([
      ['a lease was lost: another node has taken the conversation, or it was deleted', { tenant: 'default', id: 'c1' }],
    ])
  })
})
