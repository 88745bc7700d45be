import type { NewEvent } from '../../log/events.ts'
import type { Change } from '../../store/change.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import {
  assistantMsg,
  cancelRequested,
  flowStarted,
  fsmState,
  note,
  resolution,
  suspendCalls,
  suspension,
  titled,
  toolCall,
  toolResult,
  toolStarted,
  turnEnded,
  userMsg,
} from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000

export function wakeUps({ describe, test, expect }: Suite): void {
  describe('wake-ups', () => {
    const waking: readonly NewEvent[] = [userMsg(), resolution('call'), cancelRequested(), flowStarted()]
    for (const event of waking) {
      test(`${event.type} wakes the conversation, appended or committed`, async ({ store }) => {
        await parked(store)
        await store.appendEvent('chat', event)
        expect(await isDue(store)).toBe(true)
        await store.commit('chat', { events: [], wakeAt: null })
        expect(await isDue(store)).toBe(false)
        await store.commit('chat', { events: [titled('A'), event] })
        expect(await isDue(store)).toBe(true)
      })
    }

    const quiet: readonly NewEvent[] = [
      assistantMsg(),
      toolCall('call'),
      toolStarted('call'),
      suspension('call'),
      toolResult('call'),
      turnEnded(),
      titled('A'),
      note('rated'),
      { type: 'injection', content: { turnId: 'turn-1', step: 0, hook: 'memory', parts: [] } },
      { type: 'regeneration', content: { messageId: 'message-1', n: 1, feedback: 'shorter' } },
      { type: 'withheld', content: { messageId: 'message-1', hook: 'guard' } },
      {
        type: 'attempt_discarded',
        content: {
          turnId: 'turn-1',
          messageId: 'message-2',
          model: { provider: 'p', modelId: 'm' },
          usage: {},
          code: 'x',
        },
      },
      { type: 'halted_by', content: { callId: 'call', reason: 'handed over' } },
      { type: 'scope_missing', content: { turnId: 'turn-1', who: 'ann', reason: 'no directory' } },
    ]
    test('no other event wakes', async ({ store }) => {
      await parked(store)
      for (const event of quiet) {
        await store.appendEvent('chat', event)
        expect([event.type, await isDue(store)]).toEqual([event.type, false])
      }
    })

    test('writes beside the log do not wake', async ({ store }) => {
      await parked(store)
      await store.putConversation('chat', { title: 'A', status: 'active' })
      await store.putFsmState('chat', fsmState('running', 1))
      await store.upsertToolCall('chat', { id: 'call', expiresInMs: minute })
      await store.scheduleExpiry('chat', 'call', 2 * minute)
      await store.cancelExpiry('chat', 'call')
      await store.putSummary('chat', { fromSeq: 1, toSeq: 1, content: null, version: 1, base: null })
      await store.putModelCall('chat', { turnRef: 'turn' })
      await store.putSnapshot('chat', null)
      await store.releaseLease('chat', (await store.acquireLease('chat', 'one', minute))!.epoch)
      await store.fork('chat', 'copy')
      expect(await isDue(store)).toBe(false)
    })

    test('an answered call wakes its conversation', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      expect(await isDue(store)).toBe(false)
      await store.resolveToolCall('call', 'resolved', true)
      expect(await isDue(store)).toBe(true)
      expect((await store.getConversation('chat'))!.status).toBe('active')
    })

    test('an explicit wake-up wins over the automatic one', async ({ store }) => {
      const cases: readonly [Change['wakeAt'], boolean][] = [
        [null, false],
        [{ inMs: minute }, false],
        [{ inMs: 0 }, true],
        ['now', true],
      ]
      for (const [wakeAt, expected] of cases) {
        await store.commit('chat', {
          events: [userMsg()],
          conversation: { agent: 'support' },
          ...(wakeAt === undefined ? {} : { wakeAt }),
        })
        expect([wakeAt, await isDue(store)]).toEqual([wakeAt, expected])
      }
    })

    test('a wake-up can be set without an event', async ({ store }) => {
      await parked(store)
      await store.commit('chat', { events: [], wakeAt: 'now' })
      expect(await isDue(store)).toBe(true)
    })

    test('a wake-up in the future comes due in its time', async ({ store, pass, eventually }) => {
      await parked(store)
      await store.commit('chat', { events: [], wakeAt: { inMs: 30 } })
      const before = (await store.getConversation('chat'))!.updatedAt
      await eventually('it is due', () => isDue(store))
      await store.putConversation('chat', { title: 'A' })
      expect((await store.getConversation('chat'))!.updatedAt - before).toBeGreaterThanOrEqual(30)
      await store.commit('chat', { events: [], wakeAt: { inMs: minute } })
      await pass(30)
      expect(await isDue(store)).toBe(false)
    })

    test('a message brings a wake-up in the future forward', async ({ store }) => {
      await parked(store)
      await store.commit('chat', { events: [], wakeAt: { inMs: minute } })
      await store.appendEvent('chat', userMsg())
      expect(await isDue(store)).toBe(true)
    })

    test('a commit without wakeAt keeps the wake-up', async ({ store }) => {
      await store.commit('chat', { events: [userMsg()], conversation: { agent: 'support' } })
      const { epoch } = (await store.acquireLease('chat', 'one', minute))!
      await store.commit('chat', { events: [assistantMsg()], epoch, fsmState: fsmState('running', 2) })
      await store.putConversation('chat', { title: 'A' })
      await store.putFsmState('chat', fsmState('idle', 2))
      await store.upsertToolCall('chat', { id: 'call' })
      await store.releaseLease('chat', epoch)
      expect(await isDue(store)).toBe(true)
    })

    test('parking clears the wake-up and frees the lease in one commit', async ({ store }) => {
      await store.commit('chat', { events: [userMsg()], conversation: { agent: 'support' } })
      const { epoch } = (await store.acquireLease('chat', 'one', minute))!
      const result = await store.commit('chat', {
        events: [],
        epoch,
        expectedSeq: 1,
        fsmState: fsmState('idle', 1),
        wakeAt: null,
        lease: 'release',
      })
      expect(result).toMatchObject({ ok: true, seq: 1 })
      expect(await isDue(store)).toBe(false)
      expect((await store.acquireLease('chat', 'two', minute)) === null).toBe(false)
      expect((await store.getConversation('chat'))!.status).toBe('idle')
    })

    test('a message that comes while a lease is held is due when the lease is free', async ({ store }) => {
      await parked(store)
      const { epoch } = (await store.acquireLease('chat', 'one', minute))!
      await store.appendEvent('chat', userMsg())
      expect(await isDue(store)).toBe(false)
      await store.releaseLease('chat', epoch)
      expect(await isDue(store)).toBe(true)
    })

    test('a status is what woke it, then the cached state, then what the caller says', async ({ store }) => {
      const status = async () => (await store.getConversation('chat'))!.status
      await store.appendEvent('chat', userMsg())
      expect(await status()).toBe('active')
      await store.putFsmState('chat', fsmState('awaiting_input', 1))
      expect(await status()).toBe('suspended')
      await store.commit('chat', { events: [userMsg()], fsmState: fsmState('idle', 2) })
      expect(await status()).toBe('idle')
      await store.commit('chat', {
        events: [userMsg()],
        fsmState: fsmState('running', 3),
        conversation: { status: 'ended' },
      })
      expect(await status()).toBe('ended')
    })
  })
}

/** Creates a conversation that is not due. */
async function parked(store: Store): Promise<void> {
  await store.commit('chat', { events: [userMsg()], conversation: { agent: 'support' }, wakeAt: null })
}

async function isDue(store: Store): Promise<boolean> {
  return (await store.dueWork({ agents: ['support'], limit: 9 })).some(({ id }) => id === 'chat')
}

export function dueWork({ describe, test, testTwoStores, expect }: Suite): void {
  describe('due work', () => {
    test('only the agents that are asked for are found', async ({ store }) => {
      await begin(store, 'one', 'support')
      await begin(store, 'two', 'sales')
      await begin(store, 'three', 'Support')
      await store.appendEvent('unassigned', userMsg())
      const found = async (agents: string[]) =>
        (await store.dueWork({ agents, limit: 9 })).map((work) => work.id).sort()
      expect(await found(['support'])).toEqual(['one'])
      expect(await found(['sales', 'support'])).toEqual(['one', 'two'])
      expect(await found(['billing'])).toEqual([])
      expect(await found([])).toEqual([])
    })

    test('a held conversation is not found until the lease has lapsed or is released', async ({ store, pass }) => {
      await begin(store, 'held', 'support')
      await begin(store, 'lapsed', 'support')
      await begin(store, 'released', 'support')
      await store.acquireLease('held', 'one', minute)
      await store.acquireLease('lapsed', 'one', 10)
      const { epoch } = (await store.acquireLease('released', 'one', minute))!
      await store.releaseLease('released', epoch)
      await pass(20)
      const found = await store.dueWork({ agents: ['support'], limit: 9 })
      expect(found.map((work) => work.id).sort()).toEqual(['lapsed', 'released'])
    })

    test('the longest due comes first, and a limit keeps the first', async ({ store, pass }) => {
      for (const id of ['c', 'a', 'b']) {
        await begin(store, id, 'support')
        await pass(3)
      }
      const found = async (limit: number) =>
        (await store.dueWork({ agents: ['support'], limit })).map((work) => work.id)
      expect(await found(9)).toEqual(['c', 'a', 'b'])
      expect(await found(2)).toEqual(['c', 'a'])
      await store.appendEvent('c', userMsg())
      expect(await found(9)).toEqual(['a', 'b', 'c'])
    })

    test('the work of all tenants is found, with the tenant it belongs to', async ({ store, pass }) => {
      for (const tenant of ['acme', 'default', 'globex']) {
        await begin(store.forTenant(tenant), 'chat', 'support')
        await pass(3)
      }
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([
        { tenant: 'acme', id: 'chat' },
        { tenant: 'default', id: 'chat' },
        { tenant: 'globex', id: 'chat' },
      ])
    })

    test('what has no wake-up, a later one, or was deleted is not found', async ({ store }) => {
      await begin(store, 'parked', 'support')
      await store.commit('parked', { events: [], wakeAt: null })
      await begin(store, 'later', 'support')
      await store.commit('later', { events: [], wakeAt: { inMs: minute } })
      await begin(store, 'deleted', 'support')
      await store.deleteConversation('deleted')
      await store.putConversation('quiet', { agent: 'support' })
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
    })

    test('a conversation is found under the agent it was given last', async ({ store }) => {
      await begin(store, 'chat', 'support')
      await store.putConversation('chat', { agent: 'sales' })
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
      expect(await store.dueWork({ agents: ['sales'], limit: 9 })).toEqual([{ tenant: 'default', id: 'chat' }])
    })

    testTwoStores('what one store wrote is due in the other, and what it holds is not', async ({ store, other }) => {
      await begin(store, 'chat', 'support')
      expect(await other.dueWork({ agents: ['support'], limit: 9 })).toEqual([{ tenant: 'default', id: 'chat' }])
      await store.acquireLease('chat', 'one', minute)
      expect(await other.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
      expect(await other.acquireLease('chat', 'two', minute)).toBe(null)
    })
  })
}

async function begin(store: TenantStore, id: string, agent: string): Promise<void> {
  await store.commit(id, { events: [userMsg()], conversation: { agent } })
}

const query = { agents: ['support'], limit: 9, leaseMs: 1_000 }

/** A conversation that is to wake in a minute, under a lease. */
async function asleepAndHeld(store: TenantStore, ttlMs: number): Promise<void> {
  await begin(store, 'held', 'support')
  await store.commit('held', { events: [userMsg()], wakeAt: { inMs: minute } })
  await store.acquireLease('held', 'one', ttlMs)
}

export function clocks({ describe, testLeaping, expect }: Suite): void {
  describe('a clock that is put back', () => {
    testLeaping('leaves due conversations due, and the others asleep', async ({ store, leap }) => {
      for (const id of ['due', 'asleep']) await store.putConversation(id, { agent: 'support' })
      await store.commit('due', { events: [userMsg()], wakeAt: 'now' })
      await store.commit('asleep', { events: [userMsg()], wakeAt: { inMs: minute } })
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'due' }])
      await leap(-10 * minute)
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'due' }])
      await leap(10 * minute)
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'due' }])
      await leap(minute)
      expect((await store.dueWork(query)).map(({ id }) => id)).toEqual(['due', 'asleep'])
    })

    testLeaping('leaves a lease to a holder that renews it, and to no other for long', async ({ store, leap }) => {
      for (const id of ['living', 'dead']) {
        await store.putConversation(id, { agent: 'support' })
        await store.commit(id, { events: [userMsg()], wakeAt: 'now' })
      }
      const { epoch } = (await store.acquireLease('living', 'one', 1_000))!
      await store.acquireLease('dead', 'two', 1_000)
      expect(await store.dueWork(query)).toEqual([])
      await leap(-10 * minute)
      expect(await store.dueWork(query)).toEqual([])
      for (const id of ['living', 'dead']) expect(await store.acquireLease(id, 'three', 1_000)).toBe(null)
      await leap(2_999)
      expect(await store.dueWork(query)).toEqual([])
      await store.keepLeases('one', 1_000, [{ tenant: 'default', id: 'living', epoch, seq: 1 }])
      await leap(1)
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'dead' }])
      await leap(999)
      expect((await store.dueWork(query)).map(({ id }) => id).sort()).toEqual(['dead', 'living'])
    })

    testLeaping(
      'makes a held conversation due once its lease lapses, whenever it was to wake',
      async ({ store, leap }) => {
        await asleepAndHeld(store, 1_000)
        expect(await store.dueWork(query)).toEqual([])
        await leap(-2_000)
        expect(await store.dueWork(query)).toEqual([])
        await leap(2_999)
        expect(await store.dueWork(query)).toEqual([])
        await leap(1)
        expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'held' }])
      },
    )

    testLeaping('is noticed by a first query only from a lease that no process could have', async ({ store, leap }) => {
      await asleepAndHeld(store, 10_000)
      await leap(-2_000)
      expect(await store.dueWork(query)).toEqual([])
      await leap(3_000)
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'held' }])
    })

    testLeaping('is not assumed by a first query that finds a lease of the usual length', async ({ store, leap }) => {
      await asleepAndHeld(store, 1_000)
      expect(await store.dueWork(query)).toEqual([])
      await leap(minute - 1)
      expect(await store.dueWork(query)).toEqual([])
      await leap(1)
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'held' }])
    })

    testLeaping('leaves a quarantine as it is, and leases when no leaseMs is given', async ({ store, leap }) => {
      for (const id of ['poison', 'held']) {
        await store.putConversation(id, { agent: 'support' })
        await store.commit(id, { events: [userMsg()], wakeAt: 'now' })
      }
      for (let lapses = 0; lapses < 5; lapses++) {
        await store.claimLease('poison', `holder-${lapses}`, 10)
        await leap(20)
      }
      expect(await store.claimLease('poison', 'six', minute)).toEqual({ type: 'quarantined' })
      await store.acquireLease('held', 'one', minute)
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
      await leap(-10 * minute)
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
      await leap(5 * minute)
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([])
      expect(await store.claimLease('held', 'two', minute)).toEqual({ type: 'held' })
      await leap(-10 * minute)
      expect(await store.dueWork(query)).toEqual([])
      await leap(minute)
      expect(await store.dueWork(query)).toEqual([{ tenant: 'default', id: 'held' }])
    })
  })
}
