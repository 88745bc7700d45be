import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { Change } from '../../src/store/change.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { bossOf, childTool } from './child-agents.ts'
import { flakyStore } from './flaky-store.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'
import { pacedModel } from './paced-model.ts'
import { until } from './until.ts'

const quick = { leaseMs: 300, pollMs: 20 }

/** A node that has something else to work on renews its leases for as long as it lives. */
overStores('a lease whose acknowledgement was lost', (story) => {
  const acquires = (_: string, change: Change) => change.acquire !== undefined

  test('by a message: the turn goes on, also on the node that never heard of its lease', async () => {
    const busy = pacedModel()
    const agents = [
      defineAgent({ name: 'busy', model: busy }),
      defineAgent({ name: 'echo', model: scriptedModel(() => 'Yes.') }),
    ]
    const data = story.openStore()
    const { store, failures } = flakyStore(data, {
      method: 'commit',
      times: 1,
      isWritten: true,
      only: acquiresFor('c1'),
    })
    const node = story.start({ agents, store, ...quick })
    await node.conversation('long', { agent: 'busy' }).send('go')
    await busy.called(1)

    await expect(node.conversation('c1', { agent: 'echo' }).send('Are you there?')).rejects.toThrow('lost')
    expect(failures()).toBe(1)
    await until(async () => (await data.streamEvents('c1')).at(-1)?.type === 'turn_ended')
  })

  test('by the result of a child agent: its parent goes on', async () => {
    const busy = pacedModel()
    const paced = pacedModel()
    const child = defineAgent({ name: 'child', model: paced })
    const { boss } = bossOf([childTool('delegate', child)], [{ tool: 'delegate', args: { task: 'x' } }])
    const data = story.openStore()
    const only = (id: string, change: Change) =>
      acquires(id, change) && change.events.some(({ type }) => type === 'resolution')
    const { store, failures } = flakyStore(data, { method: 'commit', times: 1, isWritten: true, only })
    const node = story.start({ agents: [boss, defineAgent({ name: 'busy', model: busy })], store, ...quick })
    await node.conversation('long', { agent: 'busy' }).send('go')
    await busy.called(1)

    const turn = await node.conversation('c1', { agent: 'boss' }).send('go')
    await paced.called(1)
    const { epoch } = await until(() => data.acquireLease('c1', 'somebody', 60_000))
    await data.releaseLease('c1', epoch)
    await paced.answer(1, 'ok')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(failures()).toBe(1)
  })

  test('by taking it up: another node takes it up', async () => {
    const busy = pacedModel()
    const echo = defineAgent({ name: 'echo', model: scriptedModel(() => 'Yes.') })
    const data = story.openStore()
    const { store, failures } = flakyStore(data, { method: 'claimDue', times: 1, isWritten: true })
    const agents = [echo, defineAgent({ name: 'busy', model: busy })]
    const node = story.start({ agents, store, ...quick })
    await node.conversation('long', { agent: 'busy' }).send('go')
    await busy.called(1)
    const api = story.start({ agents: [echo], store: story.reopen(data), work: false })
    const turn = await api.conversation('c1', { agent: 'echo' }).send('Are you there?')
    await until(() => failures() === 1)
    story.start({ agents: [echo], store: story.reopen(data), ...quick })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Yes.' })
  })

  test('a lease that is lost again and again is given back again and again, long before it would lapse', async () => {
    const echo = defineAgent({ name: 'echo', model: scriptedModel(() => 'Yes.') })
    const data = story.openStore()
    const { store, failures } = flakyStore(data, { method: 'claimDue', times: 3, isWritten: true })
    const api = story.start({ agents: [echo], store: story.reopen(data), work: false })
    const turn = await api.conversation('c1', { agent: 'echo' }).send('Are you there?')
    story.start({ agents: [echo], store, leaseMs: 600_000, pollMs: 20 })
    // The same node may take it again as its own, so it is another that has to find it free.
    await until(() => failures() === 3)
    story.start({ agents: [echo], store: story.reopen(data), leaseMs: 600_000, pollMs: 20 })
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Yes.' })
  })

  test('a lease whose acknowledgement is on its way is not taken for one that was lost', async () => {
    const model = pacedModel()
    const agents = [defineAgent({ name: 'echo', model })]
    const data = story.openStore()
    const warnings: string[] = []
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
    const delayed = delayedAnswer(data, 'commit', (id, change) => id === 'c1' && change.acquire !== undefined)
    const node = story.start({ agents, store: delayed.store, logger, leaseMs: 200, pollMs: 20 })
    await node.conversation('long', { agent: 'echo' }).send('go')
    await model.called(1)
    const sending = node.conversation('c1', { agent: 'echo' }).send('Are you there?')
    await delayed.renewed(2)
    delayed.answer()
    const turn = await sending
    await model.answer(2, 'Yes.')
    expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Yes.' })
    expect(warnings).toEqual([])
  })

  test('the leases of a claim whose answer is on its way are not taken for lost ones, however many', async () => {
    const model = pacedModel()
    const agents = [defineAgent({ name: 'echo', model })]
    const data = story.openStore()
    const warnings: string[] = []
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
    const api = story.start({ agents, store: story.reopen(data), work: false })
    const delayed = delayedAnswer(data, 'claimDue', () => true)
    const node = story.start({ agents, store: delayed.store, logger, leaseMs: 200, pollMs: 20 })
    await node.conversation('long', { agent: 'echo' }).send('go')
    await model.called(1)
    const ids = ['c1', 'c2', 'c3']
    const turns = await Promise.all(ids.map((id) => api.conversation(id, { agent: 'echo' }).send('Are you there?')))
    await delayed.renewed(2)
    delayed.answer()
    for (const call of [2, 3, 4]) await model.answer(call, 'Yes.')
    for (const turn of turns) expect(await turn.outcome()).toMatchObject({ status: 'completed', text: 'Yes.' })
    expect(warnings).toEqual([])
  })

  function acquiresFor(wanted: string): (id: string, change: Change) => boolean {
    return (id, change) => id === wanted && acquires(id, change)
  }
})

/** A store whose answer to one call is held back, and that counts the renewals from then on. A claim that found nothing is answered at once. */
function delayedAnswer(data: Store, held: 'commit' | 'claimDue', isMeant: (id: string, change: Change) => boolean) {
  const release = gate()
  let isHeld = false
  let renewals = 0

  function delayed<T extends Store | TenantStore>(target: T): T {
    return new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => delayed(data.forTenant(tenant))
        if (typeof member !== 'function' || (name !== held && name !== 'keepLeases')) return member
        return async (...args: unknown[]) => {
          const answer: unknown = await member.apply(object, args)
          if (name === 'keepLeases' && isHeld) renewals += 1
          if (name !== held || !isMeant(...(args as [string, Change]))) return answer
          if (Array.isArray(answer) && answer.length === 0) return answer
          isHeld = true
          await release.opened
          return answer
        }
      },
    })
  }

  return { store: delayed(data), answer: release.open, renewed: (times: number) => until(() => renewals >= times) }
}
