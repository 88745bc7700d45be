import type { Accounts, BorrowRequest } from '../../store/accounts.ts'
import type { DueLimits, SlotLimits } from '../../store/slots.ts'
import type { Store } from '../../store/store.ts'
import { turnEnded, userMsg } from './event-builders.ts'
import type { Bench, Suite } from './suite.ts'

const minute = 60_000

/** For stores that offer accounts, and so keep limits; the others have no such obligation. */
export function limits({ describe, test, testTwoStores, expect }: Suite): void {
  const withAccounts =
    <B extends Bench>(body: (bench: B & { accounts: Accounts }) => Promise<void>) =>
    async (bench: B): Promise<void> => {
      const { accounts } = bench.store
      if (accounts) await body({ ...bench, accounts })
    }
  const testLimits = (name: string, body: (bench: Bench & { accounts: Accounts }) => Promise<void>): void =>
    test(name, withAccounts(body))

  const take = async (store: Store, tenant: string, id: string, within: SlotLimits, holder = 'one') => {
    const outcome = await store.forTenant(tenant).claimLease(id, holder, minute, { limits: within })
    return outcome.type === 'limited' ? outcome.limit : outcome.type
  }

  describe('limits of claims', () => {
    testLimits(
      'are reached by the live leases of a tenant, an agent or an account, and by no others',
      async (bench) => {
        const { store } = bench
        for (const [tenant, id, agent] of [
          ['acme', 'a1', 'sales'],
          ['acme', 'a2', 'support'],
          ['beta', 'b1', 'support'],
          ['beta', 'b2', 'support'],
        ] as const)
          await begin(store, tenant, id, agent)
        expect(await take(store, 'acme', 'a1', { tenant: 1, account: { name: 'x' } })).toBe('taken')
        expect(await take(store, 'acme', 'a2', { tenant: 1 })).toBe('tenant')
        expect(await take(store, 'acme', 'a2', { tenant: 2, account: { name: 'x', turns: 1 } })).toBe('account')
        expect(await take(store, 'acme', 'a2', { tenant: 2, agent: 1, account: { name: 'y', turns: 1 } })).toBe('taken')
        expect(await take(store, 'beta', 'b1', { tenant: 1, agent: 1 })).toBe('agent')
        expect(await take(store, 'beta', 'b1', { tenant: 1, agent: 2 })).toBe('taken')
        expect(await take(store, 'beta', 'b2', {})).toBe('taken')
        expect(await bench.accounts.held({ tenant: 'beta', id: 'b1', agent: 'support', account: 'x' })).toEqual({
          isHeld: true,
          tenant: 2,
          agent: 3,
          account: 1,
        })
      },
    )

    testLimits('a lease that was released or has lapsed, a session and a quarantine hold no slot', async (bench) => {
      const { store, pass } = bench
      for (const id of ['released', 'lapsed', 'next', 'last', 'more']) await begin(store, 'acme', id, 'support')
      await store.forTenant('acme').putConversation('session', { kind: 'flow', agent: 'flow:f' })
      expect(await take(store, 'acme', 'session', { tenant: 1 })).toBe('taken')
      const released = await store.forTenant('acme').acquireLease('released', 'two', minute)
      expect(await take(store, 'acme', 'next', { tenant: 1 })).toBe('tenant')
      await store.forTenant('acme').releaseLease('released', released!.epoch)
      await store.forTenant('acme').acquireLease('lapsed', 'two', 10)
      await pass(20)
      expect(await take(store, 'acme', 'next', { tenant: 1 })).toBe('taken')
      expect(await take(store, 'acme', 'last', { tenant: 2 })).toBe('taken')
      expect(await take(store, 'acme', 'more', { tenant: 2 })).toBe('tenant')
      // Its own lease does not count.
      expect(await take(store, 'acme', 'last', { tenant: 2 })).toBe('taken')
    })

    testLimits('children and turns that are being cancelled pass, until the turn has ended', async ({ store }) => {
      for (const id of ['held', 'cancelled', 'parent']) await begin(store, 'acme', id, 'support')
      const acme = store.forTenant('acme')
      expect(await take(store, 'acme', 'held', { tenant: 1 })).toBe('taken')
      const parent = { id: 'parent', callId: 'call' }
      await acme.commit('child', { events: [userMsg()], conversation: { agent: 'support', parent } })
      expect(await take(store, 'acme', 'child', { tenant: 1 })).toBe('taken')
      expect(await take(store, 'acme', 'cancelled', { tenant: 1 })).toBe('tenant')
      await acme.commit('cancelled', { events: [{ type: 'cancel_requested', content: { turnId: 't1', who: 'ada' } }] })
      const claimed = await acme.claimLease('cancelled', 'one', minute, { limits: { tenant: 1 } })
      expect(claimed.type).toBe('taken')
      const epoch = claimed.type === 'taken' ? claimed.epoch : 0
      await acme.commit('cancelled', { events: [turnEnded('t1')], epoch, lease: 'release' })
      expect(await take(store, 'acme', 'cancelled', { tenant: 1 })).toBe('tenant')
    })

    testLimits('a commit at its limit is made without the lease, and says which limit it was', async ({ store }) => {
      const acme = store.forTenant('acme')
      const acquire = { holder: 'one', ttlMs: minute, limits: { agent: 1, account: { name: 'z' } } }
      const send = (id: string) => acme.commit(id, { events: [userMsg()], conversation: { agent: 'desk' }, acquire })
      const first = await send('c1')
      expect([first.ok && first.epoch !== undefined, first.ok && first.limited]).toEqual([true, undefined])
      const second = await send('c2')
      expect(second).toMatchObject({ ok: true, seq: 1, limited: 'agent' })
      expect(second.ok && second.epoch).toBe(undefined)
      const both = await Promise.all(['c3', 'c4', 'c5'].map((id) => send(id)))
      expect(both.map((result) => result.ok && result.limited)).toEqual(['agent', 'agent', 'agent'])
      await acme.releaseLease('c1', (first.ok && first.epoch) || 0)
      const again = await acme.commit('c2', { events: [userMsg()], acquire })
      expect(again.ok && again.epoch !== undefined).toBe(true)
    })

    testTwoStores(
      'are kept by stores that claim at the same time',
      withAccounts(async ({ store, other }) => {
        const ids = Array.from({ length: 12 }, (_, n) => `c${n}`)
        for (const id of ids) await begin(store, 'acme', id, 'support')
        const within = { tenant: 5 }
        const taken = await Promise.all(
          ids.map((id, n) => take(n % 2 === 0 ? store : other, 'acme', id, within, `holder ${n % 2}`)),
        )
        expect(taken.filter((outcome) => outcome === 'taken').length).toBe(5)
        const more = Array.from({ length: 6 }, (_, n) => `d${n}`)
        const acquire = (n: number) => ({ holder: `holder ${n % 2}`, ttlMs: minute, limits: { tenant: 7 } })
        const sent = await Promise.all(
          more.map((id, n) =>
            (n % 2 === 0 ? store : other)
              .forTenant('acme')
              .commit(id, { events: [userMsg()], conversation: { agent: 'support' }, acquire: acquire(n) }),
          ),
        )
        expect(sent.filter((result) => result.ok && result.epoch !== undefined).length).toBe(2)
      }),
    )
  })

  describe('the search for work', () => {
    const claim = { holder: 'one', ttlMs: minute, agents: ['support', 'sales'] }

    testLimits('takes one of each tenant before a second of any', async ({ store, pass }) => {
      for (const id of ['a1', 'a2', 'a3', 'a4']) await begin(store, 'acme', id, 'support')
      await pass(3)
      for (const tenant of ['beta', 'gamma']) await begin(store, tenant, 'late', 'support')
      const tenants = async (limit: number) =>
        (await store.claimDue({ ...claim, limit })).map(({ tenant }) => tenant).sort()
      expect(await tenants(4)).toEqual(['acme', 'acme', 'beta', 'gamma'])
      expect(await tenants(9)).toEqual(['acme', 'acme'])
    })

    testLimits('goes round where there are more tenants than places', async ({ store }) => {
      for (const tenant of ['acme', 'beta', 'gamma'])
        for (const n of [1, 2]) await begin(store, tenant, `c${n}`, 'support')
      const served: string[] = []
      for (let n = 0; n < 6; n++) served.push((await store.claimDue({ ...claim, limit: 1 }))[0]!.tenant)
      const [first, second] = [served.slice(0, 3), served.slice(3)]
      expect([...first].sort()).toEqual(['acme', 'beta', 'gamma'])
      expect(second).toEqual(first)
    })

    testLimits('goes on after the last tenant that it served, also when it takes several', async ({ store }) => {
      for (const tenant of ['acme', 'beta', 'gamma', 'zeta'])
        for (const n of [1, 2, 3]) await begin(store, tenant, `c${n}`, 'support')
      for (let round = 0; round < 3; round++) {
        const served: string[] = []
        for (const limit of [2, 2])
          served.push(...(await store.claimDue({ ...claim, limit })).map(({ tenant }) => tenant))
        expect([...served].sort()).toEqual(['acme', 'beta', 'gamma', 'zeta'])
      }
    })

    testLimits('takes no more than there are slots, and a tenant at its limit holds up no other', async ({ store }) => {
      for (const id of ['a1', 'a2', 'a3', 'a4']) await begin(store, 'acme', id, 'support')
      for (const id of ['b1', 'b2', 'b3']) await begin(store, 'beta', id, 'sales')
      const within = (tenant: DueLimits['tenant'], agents: [string, Omit<SlotLimits, 'tenant'>][]): DueLimits => ({
        ...(tenant === undefined ? {} : { tenant }),
        agents: new Map(agents),
      })
      const both: [string, Omit<SlotLimits, 'tenant'>][] = [
        ['support', {}],
        ['sales', { account: { name: 'w', turns: 2 } }],
      ]
      const counts = async (given: DueLimits, limit = 9) => {
        const taken = await store.claimDue({ ...claim, limit, limits: given })
        return [
          taken.filter(({ tenant }) => tenant === 'acme').length,
          taken.filter(({ tenant }) => tenant === 'beta').length,
        ]
      }
      expect(await counts(within(2, both), 9)).toEqual([2, 2])
      expect(await counts(within(2, both))).toEqual([0, 0])
      // Of beta, the account is at its limit.
      expect(await counts(within((tenant) => (tenant === 'acme' ? 3 : 9), both))).toEqual([1, 0])
      expect(await counts(within(undefined, [['support', { agent: 3 }]]))).toEqual([0, 1])
    })

    testLimits('finds what passes limits behind any number of others', async ({ store, pass }) => {
      await begin(store, 'acme', 'held', 'support')
      expect(await take(store, 'acme', 'held', { tenant: 1 })).toBe('taken')
      for (let n = 0; n < 20; n++) await begin(store, 'acme', `c${n}`, 'support')
      await pass(3)
      const cancel = { type: 'cancel_requested' as const, content: { turnId: 't1', who: 'ada' } }
      await store.forTenant('acme').commit('c19', { events: [cancel] })
      const given: DueLimits = { tenant: 1, agents: new Map([['support', {}]]) }
      const taken = await store.claimDue({ ...claim, limit: 2, limits: given })
      expect(taken.map(({ id }) => id)).toEqual(['c19'])
    })
  })

  describe('accounts', () => {
    const request = (account: string, more: Partial<BorrowRequest> = {}): BorrowRequest => ({
      account,
      limits: { requests: 10, tokens: 1_000 },
      need: { requests: 1, tokens: 100 },
      want: { requests: 4, tokens: 400 },
      returned: null,
      ...more,
    })

    testLimits(
      'lend a minute in slices, down to what is needed, and then say how long to wait',
      async ({ accounts }) => {
        const all = { requests: 10, tokens: 1_000 }
        expect(await accounts.borrow(request('lends'))).toMatchObject({ type: 'granted', requests: 4, tokens: 400 })
        const rest = await accounts.borrow(request('lends', { want: all }))
        expect(rest).toMatchObject({ type: 'granted', requests: 6, tokens: 600 })
        const refused = await accounts.borrow(request('lends'))
        expect(refused.type).toBe('wait')
        expect(refused.type === 'wait' && refused.waitMs > 0 && refused.waitMs <= 2 * minute).toBe(true)
        expect((await accounts.borrow(request('other'))).type).toBe('granted')
      },
    )

    testLimits('take back what was not used, and count what was used beyond', async ({ accounts }) => {
      const all = { requests: 10, tokens: 1_000 }
      const first = await accounts.borrow(request('returns', { want: all }))
      const minuteOf = first.type === 'granted' ? first.minute : 0
      const returned = { requests: 9, tokens: 700, minute: minuteOf }
      const second = await accounts.borrow(request('returns', { want: all, returned }))
      expect(second).toMatchObject({ type: 'granted', requests: 9, tokens: 700 })
      const beyond = { requests: 9, tokens: -5_000, minute: minuteOf }
      expect((await accounts.borrow(request('returns', { returned: beyond }))).type).toBe('wait')
    })

    testLimits('lend nothing while the provider has asked to wait', async ({ accounts }) => {
      await accounts.pause('paused', 5_000)
      await accounts.pause('paused', 1_000)
      const refused = await accounts.borrow(request('paused', { limits: { requests: null, tokens: null } }))
      expect(refused.type === 'wait' && refused.waitMs > 2_000 && refused.waitMs <= 5_000).toBe(true)
    })

    testTwoStores(
      'lend no more than the limit to stores that borrow at the same time',
      withAccounts(async ({ accounts, other }) => {
        const lenders = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? accounts : other.accounts!))
        const one = { requests: 1, tokens: 1 }
        const answers = await Promise.all(
          lenders.map((lender) => lender.borrow(request('raced', { need: one, want: one }))),
        )
        expect(answers.filter(({ type }) => type === 'granted').length).toBe(10)
      }),
    )
  })
}

async function begin(store: Store, tenant: string, id: string, agent: string): Promise<void> {
  await store.forTenant(tenant).commit(id, { events: [userMsg()], conversation: { agent } })
}
