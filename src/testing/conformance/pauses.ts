import type { PauseTarget, Steering, SteeringAct } from '../../store/steering.ts'
import type { Store } from '../../store/store.ts'
import { turnEnded, userMsg } from './event-builders.ts'
import type { Bench, Suite } from './suite.ts'

const ada = { who: 'ops/ada', reason: 'the provider is down \u0000' }
const acquire = { holder: 'worker', ttlMs: 60_000 }

/** For stores that offer pauses; the others have no such obligation. */
export function pauses({ describe, test, testReopening, testTwoStores, expect, refused }: Suite): void {
  type PausesBench = Bench & { steering: Steering }
  const testPauses = (name: string, body: (bench: PausesBench) => Promise<void>): void =>
    test(name, async (bench) => {
      const { steering } = bench.store
      if (!steering) return
      await body({ ...bench, steering })
      // A shared store is emptied by tenant, and pauses of agents belong to none.
      for (const { target } of await steering.pauses()) await steering.resume(target, ada)
    })

  /** Three conversations that are due: two of ann, one of them in another tenant, and one of bob. */
  async function threeDue(store: Store): Promise<void> {
    await store.commit('ann', { events: [userMsg()], conversation: { agent: 'ann' } })
    await store.forTenant('acme').commit('ann too', { events: [userMsg()], conversation: { agent: 'ann' } })
    await store.commit('bob', { events: [userMsg()], conversation: { agent: 'bob' } })
  }
  async function dueIds(store: Store): Promise<string[]> {
    const due = await store.dueWork({ agents: ['ann', 'bob'], limit: 10 })
    return due.map(({ id }) => id).sort()
  }

  describe('pauses', () => {
    const cases: readonly [string, PauseTarget, readonly string[]][] = [
      ['an agent, in every tenant', { agent: 'ann' }, ['bob']],
      ['a tenant', { tenant: 'acme' }, ['ann', 'bob']],
      ['one conversation', { conversation: 'bob' }, ['ann', 'ann too']],
      ['a conversation of a tenant', { conversation: 'ann too', tenant: 'acme' }, ['ann', 'bob']],
    ]
    for (const [what, target, left] of cases) {
      testPauses(`no process takes what is paused: ${what}`, async ({ store, steering }) => {
        await threeDue(store)
        const of = { ann: store, bob: store, 'ann too': store.forTenant('acme') }
        await steering.pause(target, ada)
        expect(await dueIds(store)).toEqual(left)
        for (const [id, tenant] of Object.entries(of)) {
          const claimed = await tenant.claimLease(id, 'worker', 60_000)
          expect([id, claimed.type]).toEqual([id, left.includes(id) ? 'taken' : 'held'])
          if (claimed.type === 'taken') await tenant.releaseLease(id, claimed.epoch)
          // A message is committed, without a lease.
          const sent = await tenant.commit(id, { events: [userMsg()], acquire })
          expect([id, sent.ok, sent.ok && sent.epoch !== undefined]).toEqual([id, true, left.includes(id)])
          if (sent.ok && sent.epoch !== undefined) await tenant.releaseLease(id, sent.epoch)
        }
        expect(await steering.resume(target, ada)).toBe(true)
        expect(await dueIds(store)).toEqual(['ann', 'ann too', 'bob'])
        expect((await of.bob.claimLease('bob', 'worker', 60_000)).type).toBe('taken')
      })
    }

    testPauses(
      'the first message of a new conversation of a paused agent gets no lease',
      async ({ store, steering }) => {
        await steering.pause({ agent: 'ann' }, ada)
        const change = { events: [userMsg()], conversation: { agent: 'ann' }, acquire }
        const sent = await store.commit('new', change)
        expect([sent.ok, sent.ok && sent.epoch]).toEqual([true, undefined])
        const other = await store.commit('other', { ...change, conversation: { agent: 'bob' } })
        expect(other.ok && other.epoch !== undefined).toBe(true)
      },
    )

    testPauses('a lease that is held goes on, and is not taken again', async ({ store, steering }) => {
      await threeDue(store)
      const lease = await store.acquireLease('bob', 'worker', 60_000)
      await steering.pause({ conversation: 'bob' }, ada)
      const { lost } = await store.keepLeases('worker', 60_000, [{ tenant: 'default', id: 'bob', ...lease!, seq: 1 }])
      expect(lost).toEqual([])
      const end = { events: [turnEnded()], epoch: lease!.epoch, expectedSeq: 1, lease: 'release' as const }
      expect((await store.commit('bob', end)).ok).toBe(true)
      expect(await store.acquireLease('bob', 'worker', 60_000)).toBe(null)
    })

    testPauses('a lapsed lease on what is paused is not taken over, nor counted', async ({ store, steering, pass }) => {
      await threeDue(store)
      await store.acquireLease('bob', 'one that dies', 1)
      await steering.pause({ agent: 'bob' }, ada)
      await pass(5)
      expect(await dueIds(store)).toEqual(['ann', 'ann too'])
      for (const suspects of [true, false])
        expect((await store.claimLease('bob', 'worker', 60_000, { suspects })).type).toBe('held')
      await steering.resume({ agent: 'bob' }, ada)
      expect(await store.claimLease('bob', 'worker', 60_000)).toMatchObject({ type: 'taken', lapses: 1 })
    })

    testPauses('a pause says who paused what, when and why; the first one stays', async ({ store, steering }) => {
      await threeDue(store)
      const pause = await steering.pause({ conversation: 'bob' }, ada)
      expect(pause).toMatchObject({ target: { conversation: 'bob', tenant: 'default' }, ...ada })
      expect(await steering.pause({ conversation: 'bob', tenant: 'default' }, { who: 'ops/bob' })).toEqual(pause)
      await steering.pause({ tenant: 'acme' }, { who: 'ops/bob' })
      const listed = await steering.pauses()
      expect(listed.map(({ target, who, reason }) => [target, who, reason])).toEqual([
        [{ tenant: 'acme' }, 'ops/bob', null],
        [{ conversation: 'bob', tenant: 'default' }, ada.who, ada.reason],
      ])
      expect((await steering.pauses({ limit: 1, before: listed[0]!.id })).map(({ id }) => id)).toEqual([pause.id])
      expect(await steering.resume({ tenant: 'nowhere' }, ada)).toBe(false)
    })

    testPauses('of several pauses a conversation has the oldest', async ({ store, steering }) => {
      await threeDue(store)
      const rows = [
        { tenant: 'default', id: 'bob', agent: 'bob' },
        { tenant: 'acme', id: 'bob', agent: null },
        { tenant: 'default', id: 'ann', agent: 'ann' },
      ]
      expect(await steering.pausesOf(rows)).toEqual([null, null, null])
      const first = await steering.pause({ agent: 'bob' }, ada)
      await steering.pause({ conversation: 'bob' }, ada)
      const other = await steering.pause({ tenant: 'acme' }, ada)
      expect(await steering.pausesOf(rows)).toEqual([first, other, null])
      await steering.resume({ agent: 'bob' }, ada)
      expect((await steering.pausesOf(rows)).map((pause) => pause?.target)).toEqual([
        { conversation: 'bob', tenant: 'default' },
        { tenant: 'acme' },
        undefined,
      ])
      expect(await steering.pausesOf([])).toEqual([])
    })

    testPauses(
      'a conversation that is deleted is paused no longer, and one that does not exist cannot be',
      async (bench) => {
        const { store, steering } = bench
        await threeDue(store)
        await steering.pause({ conversation: 'bob' }, ada)
        await steering.pause({ conversation: 'ann too', tenant: 'acme' }, ada)
        await store.deleteConversation('bob')
        await store.deleteTenant('acme')
        expect(await steering.pauses()).toEqual([])
        await refused('conversation_not_found', () => steering.pause({ conversation: 'bob' }, ada))
        await store.commit('bob', { events: [userMsg()], conversation: { agent: 'bob' } })
        expect(await dueIds(store)).toEqual(['ann', 'bob'])
      },
    )

    testPauses('a fork of what is paused is not, unless its agent or tenant is', async ({ store, steering }) => {
      await threeDue(store)
      await steering.pause({ conversation: 'bob' }, ada)
      await store.fork('bob', 'copy')
      await store.commit('copy', { events: [userMsg()] })
      expect(await dueIds(store)).toEqual(['ann', 'ann too', 'copy'])
    })

    testPauses('who paused, resumed, drained and undrained is recorded', async ({ store, steering }) => {
      const before = (await steering.acts({ limit: 1 }))[0]?.id ?? 0
      await steering.pause({ agent: 'ann' }, ada)
      await steering.pause({ agent: 'ann' }, { who: 'ops/bob' })
      await steering.resume({ agent: 'ann' }, { who: 'ops/bob' })
      await steering.resume({ agent: 'ann' }, { who: 'ops/bob' })
      await store.nodes?.beat({
        holder: 'w',
        version: '1',
        works: true,
        capacity: 1,
        agents: [],
        agentCount: 0,
        everyMs: 1_000,
        drain: null,
      })
      await store.nodes?.drain('w', { ...ada, drainMs: 1 })
      await store.nodes?.drain('w', { who: 'ops/bob', drainMs: 1 })
      await store.nodes?.undrain('w', { who: 'ops/bob', reason: 'done' })
      await store.nodes?.leave('w')
      const acts = (await steering.acts()).filter(({ id }) => id > before)
      expect(acts.map(({ act, target, who, reason }: SteeringAct) => [act, target, who, reason])).toEqual([
        ...(store.nodes
          ? [
              ['undrain', { node: 'w' }, 'ops/bob', 'done'],
              ['drain', { node: 'w' }, ada.who, ada.reason],
            ]
          : []),
        ['resume', { agent: 'ann' }, 'ops/bob', null],
        ['pause', { agent: 'ann' }, ada.who, ada.reason],
      ])
      expect((await steering.acts({ before: acts[0]!.id, limit: 1 }))[0]!.id).toBe(acts[1]!.id)
    })

    testTwoStores('a pause is obeyed by every process from its acknowledgement on', async ({ store, other }) => {
      if (!store.steering || !other.steering) return
      await threeDue(store)
      for (let round = 0; round < 5; round++) {
        // Claims that are under way while it is paused may win, those that begin afterwards never do: a holder could reclaim its own lease.
        const racing = Array.from({ length: 8 }, () => other.claimLease('bob', 'racing', 60_000))
        await store.steering.pause({ agent: 'bob' }, ada)
        expect((await other.claimLease('bob', 'racing', 60_000)).type).toBe('held')
        expect((await other.commit('bob', { events: [userMsg()], acquire })).ok).toBe(true)
        expect(await dueIds(other)).toEqual(['ann', 'ann too'])
        const won = (await Promise.all(racing)).flatMap((claimed) => (claimed.type === 'taken' ? [claimed.epoch] : []))
        if (won.length > 0) await other.releaseLease('bob', Math.max(...won))
        await other.steering.resume({ agent: 'bob' }, ada)
        expect(await dueIds(store)).toEqual(['ann', 'ann too', 'bob'])
      }
    })

    testReopening('a pause outlives the process', async ({ store, reopen }) => {
      if (!store.steering) return
      await threeDue(store)
      const pause = await store.steering.pause({ agent: 'ann' }, ada)
      const again = await reopen()
      expect(await again.steering!.pauses()).toEqual([pause])
      expect(await dueIds(again)).toEqual(['bob'])
    })

    testPauses('senseless pauses are refused', async ({ steering }) => {
      await refused('invalid_argument', () => steering.pause({} as never, ada))
      await refused('invalid_argument', () => steering.pause({ agent: 'a', tenant: 't' } as never, ada))
      await refused('invalid_id', () => steering.pause({ agent: '' }, ada))
      await refused('invalid_id', () => steering.pause({ agent: 'a' }, { who: 'line\nbreak' }))
      await refused('invalid_argument', () => steering.pause({ agent: 'a' }, { who: 'w', reason: 'x'.repeat(1_001) }))
      await refused('invalid_argument', () => steering.pauses({ limit: 0 }))
      await refused('invalid_argument', () => steering.acts({ before: 0 }))
    })
  })
}
