import type { DueLimits, SlotLimits } from '../../store/slots.ts'
import type { Steering } from '../../store/steering.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import { suspendCalls, turnEnded, userMsg } from './event-builders.ts'
import type { Bench, Suite } from './suite.ts'

const minute = 60_000
const by = { who: 'ops/ada' }
const atLimit = { tenant: 1, agents: new Map([['support', {}]]) }

/** Pauses and limits together, for stores that offer both. */
export function pausedLimits({ describe, test, testTwoStores, expect }: Suite): void {
  type Both = Bench & { readonly steering: Steering; readonly acme: TenantStore }
  const testBoth = (name: string, body: (bench: Both) => Promise<void>): void =>
    test(name, async (bench) => {
      const { steering, accounts } = bench.store
      if (!steering || !accounts) return
      await body({ ...bench, steering, acme: bench.store.forTenant('acme') })
      // A shared store is emptied by tenant, and pauses of agents belong to none.
      for (const { target } of await steering.pauses()) await steering.resume(target, by)
    })
  const claim = (store: Store, limits?: DueLimits) =>
    store.claimDue({ holder: 'one', ttlMs: minute, agents: ['support', 'sales'], limit: 9, ...(limits && { limits }) })
  const claimed = async (store: Store, limits?: DueLimits) => (await claim(store, limits)).map(({ id }) => id).sort()
  const take = async (store: TenantStore, id: string, limits: SlotLimits) => {
    const outcome = await store.claimLease(id, 'one', minute, { limits })
    return outcome.type === 'limited' ? outcome.limit : outcome.type
  }

  describe('pauses and limits together', () => {
    testBoth('a pause comes before a limit, and what was held keeps its slot', async ({ store, steering, acme }) => {
      for (const id of ['held', 'waits']) await begin(acme, id)
      const lease = (await acme.acquireLease('held', 'one', minute))!
      await steering.pause({ tenant: 'acme' }, by)
      expect(await take(acme, 'waits', { tenant: 1 })).toBe('held')
      const acquire = { holder: 'one', ttlMs: minute, limits: { tenant: 1 } }
      const sent = await acme.commit('waits', { events: [userMsg()], acquire })
      expect([sent.ok, sent.ok && sent.epoch, sent.ok && sent.limited]).toEqual([true, undefined, undefined])
      expect(await claimed(store, atLimit)).toEqual([])
      await steering.resume({ tenant: 'acme' }, by)
      expect(await take(acme, 'waits', { tenant: 1 })).toBe('tenant')
      await acme.releaseLease('held', lease.epoch)
      await steering.pause({ conversation: 'held', tenant: 'acme' }, by)
      expect(await claimed(store, atLimit)).toEqual(['waits'])
    })

    testBoth('what is paused takes no slot from others of its agent or tenant', async ({ store, steering, acme }) => {
      for (const id of ['a1', 'a2', 'a3']) await begin(acme, id)
      await begin(store.forTenant('beta'), 'b1')
      for (const id of ['a1', 'a2']) await steering.pause({ conversation: id, tenant: 'acme' }, by)
      expect(await claimed(store, { tenant: 1, agents: new Map([['support', { agent: 2 }]]) })).toEqual(['a3', 'b1'])
    })

    testBoth('a cancel passes a limit, and waits for a pause', async ({ store, steering, acme }) => {
      for (const id of ['held', 'waits', 'cancelled']) await begin(acme, id)
      await acme.acquireLease('held', 'two', minute)
      await steering.pause({ tenant: 'acme' }, by)
      const cancel = { type: 'cancel_requested' as const, content: { turnId: 'turn-1', who: 'ada' } }
      await acme.commit('cancelled', { events: [cancel] })
      expect(await take(acme, 'cancelled', { tenant: 1 })).toBe('held')
      expect(await claimed(store, atLimit)).toEqual([])
      await steering.resume({ tenant: 'acme' }, by)
      expect(await claimed(store, atLimit)).toEqual(['cancelled'])
    })

    testBoth('a child passes a limit, and waits while its agent is paused', async ({ store, steering, acme }) => {
      await begin(acme, 'parent', 'sales')
      await acme.acquireLease('parent', 'two', minute)
      for (const [id, agent] of [
        ['own', 'sales'],
        ['other', 'support'],
      ] as const) {
        const parent = { id: 'parent', callId: `call-${id}` }
        await acme.commit(id, { events: [userMsg()], conversation: { agent, parent } })
      }
      await steering.pause({ agent: 'sales' }, by)
      const limits: DueLimits = { tenant: 1, agents: new Map(['sales', 'support'].map((name) => [name, { agent: 1 }])) }
      expect(await claimed(store, limits)).toEqual(['other'])
      await steering.resume({ agent: 'sales' }, by)
      expect(await claimed(store, limits)).toEqual(['own'])
    })

    testBoth('a fork neither passes for its source nor holds its slot', async ({ store, acme }) => {
      await begin(acme, 'source')
      await acme.acquireLease('source', 'two', minute)
      await acme.commit('source', { events: [{ type: 'cancel_requested', content: { turnId: 'turn-1', who: 'ada' } }] })
      await acme.fork('source', 'copy', { at: 1 })
      await acme.commit('copy', { events: [userMsg('again', 'turn-2')] })
      expect(await take(acme, 'copy', { tenant: 1 })).toBe('tenant')
      expect(await claimed(store, { ...atLimit, tenant: 2 })).toEqual(['copy'])
    })

    testBoth('a quarantine holds no slot, and ends in the pause', async ({ store, steering, acme, pass }) => {
      for (const id of ['poison', 'waits']) await begin(acme, id)
      for (let lapse = 0; lapse < 5; lapse++) {
        await acme.claimLease('poison', `dead-${lapse}`, 1)
        await pass(5)
      }
      await steering.pause({ conversation: 'poison', tenant: 'acme' }, by)
      expect(await take(acme, 'poison', { tenant: 1 })).toBe('held')
      await steering.resume({ conversation: 'poison', tenant: 'acme' }, by)
      expect(await take(acme, 'poison', { tenant: 1 })).toBe('quarantined')
      await steering.pause({ conversation: 'poison', tenant: 'acme' }, by)
      expect(await claimed(store, atLimit)).toEqual(['waits'])
      expect(await acme.unquarantine('poison')).toBe(true)
      expect(await take(acme, 'poison', { tenant: 2 })).toBe('held')
      await steering.resume({ conversation: 'poison', tenant: 'acme' }, by)
      expect(await take(acme, 'poison', { tenant: 1 })).toBe('tenant')
      expect(await claimed(store, { ...atLimit, tenant: 2 })).toEqual(['poison'])
    })

    testBoth('a limit that is lowered ends nothing, and one that is raised counts at once', async ({ store, acme }) => {
      for (const id of ['c1', 'c2', 'c3', 'c4']) await begin(acme, id)
      const first = await claim(store, { ...atLimit, tenant: 3 })
      expect(first.length).toBe(3)
      const known = first.flatMap((one) =>
        one.type === 'taken' ? [{ tenant: 'acme', id: one.id, epoch: one.epoch, seq: 1 }] : [],
      )
      expect(await claimed(store, atLimit)).toEqual([])
      expect((await store.keepLeases('one', minute, known)).lost).toEqual([])
      for (const { id, epoch } of known.slice(0, 2))
        await acme.commit(id, { events: [turnEnded()], epoch, wakeAt: null })
      for (const { id, epoch } of known.slice(0, 2)) await acme.releaseLease(id, epoch)
      expect(await claimed(store, atLimit)).toEqual([])
      expect((await claimed(store, { ...atLimit, tenant: 2 })).length).toBe(1)
    })

    testBoth('what a node without limits holds counts for one that has them', async ({ store, acme }) => {
      for (const id of ['c1', 'c2']) await begin(acme, id)
      expect(await take(acme, 'c1', {})).toBe('taken')
      expect(await claimed(store, atLimit)).toEqual([])
      expect(await take(acme, 'c2', { agent: 1 })).toBe('agent')
      expect(await claimed(store)).toEqual(['c2'])
    })

    testBoth('a call that expires in a pause at a limit is worked on later', async (bench) => {
      const { store, steering, acme, eventually } = bench
      await begin(acme, 'held')
      const lease = (await acme.acquireLease('held', 'two', minute))!
      await suspendCalls(acme, 'asks', ['call'], { expiresInMs: 20 })
      await steering.pause({ tenant: 'acme' }, by)
      await eventually('it expires', async () => (await acme.getToolCall('call'))?.status === 'expired')
      expect(await claimed(store, atLimit)).toEqual([])
      await steering.resume({ tenant: 'acme' }, by)
      expect(await claimed(store, atLimit)).toEqual([])
      await acme.commit('held', { events: [turnEnded()], epoch: lease.epoch, wakeAt: null, lease: 'release' })
      expect(await claimed(store, atLimit)).toEqual(['asks'])
    })

    testBoth(
      'many due conversations of a paused tenant or agent hold up no other',
      async ({ store, steering, acme }) => {
        const ids = Array.from({ length: 300 }, (_, n) => `c${n}`)
        await Promise.all(ids.map((id) => begin(acme, id)))
        await begin(store.forTenant('beta'), 'later', 'sales')
        for (const target of [{ tenant: 'acme' }, { agent: 'support' }]) {
          await steering.pause(target, by)
          for (const limits of [undefined, atLimit]) {
            const [found, ...more] = await claim(store, limits)
            expect([found?.id, more.length]).toEqual(['later', 0])
            if (found?.type === 'taken') await store.forTenant('beta').releaseLease('later', found.epoch)
          }
          await steering.resume(target, by)
        }
      },
    )

    testTwoStores('a pause during claims under limits leaves no slot taken', async ({ store, other }) => {
      if (!store.steering || !other.accounts) return
      const acme = store.forTenant('acme')
      for (let n = 0; n < 6; n++) await begin(acme, `c${n}`)
      for (let round = 0; round < 4; round++) {
        const racing = [0, 1, 2].map(() => claim(other, { ...atLimit, tenant: 2 }))
        await store.steering.pause({ tenant: 'acme' }, by)
        expect(await claimed(store, { ...atLimit, tenant: 9 })).toEqual([])
        const won = (await Promise.all(racing)).flat()
        expect(won.length <= 2).toBe(true)
        for (const one of won) if (one.type === 'taken') await acme.releaseLease(one.id, one.epoch)
        await store.steering.resume({ tenant: 'acme' }, by)
        const again = await claim(store, { ...atLimit, tenant: 2 })
        expect(again.length).toBe(2)
        for (const one of again) if (one.type === 'taken') await acme.releaseLease(one.id, one.epoch)
      }
    })
  })

  describe('the search over many tenants', () => {
    testBoth('a tenant is served behind any number of others whose wake-ups are later', async ({ store, acme }) => {
      await begin(acme, 'always')
      const sleepers = Array.from({ length: 1_050 }, (_, n) => store.forTenant(`b${n}`))
      await Promise.all(
        sleepers.map((tenant) =>
          tenant.commit('asleep', {
            events: [userMsg()],
            conversation: { agent: 'support' },
            wakeAt: { inMs: 60 * minute },
          }),
        ),
      )
      await begin(store.forTenant('zeta'), 'due')
      const served = new Set<string>()
      for (let search = 0; search < 4; search++) {
        for (const { type, tenant, id, ...lease } of await claim(store)) {
          served.add(id)
          // It is always due.
          if (id === 'always' && 'epoch' in lease) await store.forTenant(tenant).releaseLease(id, lease.epoch)
        }
      }
      expect([...served].sort()).toEqual(['always', 'due'])
    })
  })
}

async function begin(store: TenantStore, id: string, agent = 'support'): Promise<void> {
  await store.commit(id, { events: [userMsg()], conversation: { agent } })
}
