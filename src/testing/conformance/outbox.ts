import type { Delivery, Outbox, Subscription } from '../../store/outbox.ts'
import { suspendCalls, titled, turnEnded, userMsg } from './event-builders.ts'
import type { Bench, Suite } from './suite.ts'

const minute = 60_000
const day = 24 * 60 * minute
const toTitles: Subscription = { name: 'titles', types: ['titled'], agent: null }

/** For stores that offer an outbox; the others have no such obligation. */
export function outbox({ describe, test, testTwoStores, testLeaping, testReopening, expect, refused }: Suite): void {
  type OutboxBench = Bench & { outbox: Outbox }
  const withOutbox =
    <B extends Bench>(body: (bench: B & { outbox: Outbox }) => Promise<void>) =>
    async (bench: B): Promise<void> => {
      const { outbox } = bench.store
      if (!outbox) return
      await body({ ...bench, outbox })
      // A shared store is emptied by tenant, and subscribers belong to none.
      if (bench.store.outbox)
        for (const { name } of await outbox.subscribers().catch(() => [])) await outbox.removeSubscriber(name)
    }
  const testOutbox = (name: string, body: (bench: OutboxBench) => Promise<void>): void => test(name, withOutbox(body))

  describe('outbox', () => {
    testOutbox('every commit after a registration is recorded, none before it', async ({ store, outbox }) => {
      await store.appendEvent('chat', titled('before'))
      expect(await outbox.register([toTitles])).toEqual([{ name: 'titles', isNew: true, stoppedAt: null }])
      expect(await outbox.register([toTitles])).toEqual([{ name: 'titles', isNew: false, stoppedAt: null }])
      expect(await claim(outbox, 'titles')).toEqual([])
      await store.commit('chat', { events: [userMsg(), titled('one'), userMsg(), titled('two')] })
      await store.forTenant('acme').appendEvent('theirs', titled('three'))
      expect(await drain(outbox, 'titles')).toEqual(['default/chat 3', 'default/chat 5', 'acme/theirs 1'])
      expect(await claim(outbox, 'titles')).toEqual([])
    })

    testOutbox('each subscriber gets its own types, and those of its agent alone', async ({ store, outbox }) => {
      await outbox.register([
        toTitles,
        { name: 'messages', types: ['user_msg', 'titled'], agent: null },
        { name: 'of ann', types: ['user_msg'], agent: 'ann' },
      ])
      await store.commit('with bob', { events: [userMsg()], conversation: { agent: 'bob' } })
      await store.commit('with ann', { events: [userMsg()], conversation: { agent: 'ann' } })
      await store.commit('with ann', { events: [userMsg(), titled('x')] })
      await store.putConversation('with ann', { agent: 'bob' })
      await store.commit('with ann', { events: [userMsg()] })
      expect(await drain(outbox, 'titles')).toEqual(['default/with ann 3'])
      expect(await drain(outbox, 'of ann')).toEqual(['default/with ann 1', 'default/with ann 2'])
      expect((await drain(outbox, 'messages')).length).toBe(5)
    })

    testOutbox('a commit that is refused or repeated records nothing', async ({ store, outbox }) => {
      await outbox.register([toTitles])
      const change = { events: [userMsg(), titled('once')], key: 'once' }
      await store.commit('chat', change)
      await store.commit('chat', change)
      expect((await store.commit('chat', { events: [titled('late')], expectedSeq: 1 })).ok).toBe(false)
      expect(await drain(outbox, 'titles')).toEqual(['default/chat 2'])
    })

    testOutbox('an expiry is recorded like any other commit', async ({ store, outbox, eventually }) => {
      await outbox.register([{ name: 'ends', types: ['resolution'], agent: null }])
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: 20 })
      const claimed = await eventually('the call has expired', async () => {
        const found = await claim(outbox, 'ends')
        return found.length > 0 && found
      })
      expect(claimed).toMatchObject([{ conversationId: 'chat', seq: 5, tries: 0 }])
    })

    testOutbox('a line has one delivery at a time, in the order of the log', async ({ store, outbox }) => {
      await outbox.register([toTitles])
      await store.putConversation('chat', {})
      await store.commit('chat', { events: [titled('one'), titled('two')] })
      await store.appendEvent('other', titled('one'))
      const [first, other] = await claim(outbox, 'titles')
      expect([first!.seq, other!.conversationId]).toEqual([1, 'other'])
      expect(await claim(outbox, 'titles')).toEqual([])
      await store.appendEvent('chat', titled('three'))
      expect(await claim(outbox, 'titles')).toEqual([])
      const settled = await outbox.settle(first!, { type: 'delivered', leaseMs: minute })
      expect(settled).toEqual({ type: 'ok', next: { ...first, seq: 2 } })
      expect(await claim(outbox, 'titles')).toEqual([])
      expect(await outbox.settle({ ...first!, seq: 2 }, { type: 'delivered' })).toEqual({ type: 'ok', next: null })
      const [third] = await claim(outbox, 'titles')
      expect(third).toMatchObject({ conversationId: 'chat', seq: 3, tries: 0 })
      expect(await outbox.settle(third!, { type: 'delivered', leaseMs: minute })).toEqual({ type: 'ok', next: null })
    })

    testOutbox('a commit with very many events is recorded whole, in one line', async ({ store, outbox }) => {
      await outbox.register([toTitles])
      await store.putConversation('chat', {})
      await store.commit('chat', { events: Array.from({ length: 600 }, (_, n) => titled(`title ${n}`)) })
      const [first] = await claim(outbox, 'titles')
      expect(await claim(outbox, 'titles')).toEqual([])
      expect(await outbox.subscribers()).toMatchObject([{ name: 'titles', waiting: 600 }])
      expect(await outbox.settle(first!, { type: 'delivered', leaseMs: minute })).toMatchObject({ next: { seq: 2 } })
    })

    testOutbox('a delivery that is put off keeps its place, and others go on', async ({ store, outbox, pass }) => {
      await outbox.register([toTitles])
      await store.putConversation('stuck', {})
      await store.commit('stuck', { events: [titled('one'), titled('two')] })
      const [first] = await claim(outbox, 'titles')
      expect(await outbox.settle(first!, { type: 'again', inMs: 1_000, tries: 1 })).toEqual({ type: 'ok', next: null })
      await store.appendEvent('other', titled('one'))
      expect(await drain(outbox, 'titles')).toEqual(['default/other 1'])
      await pass(1_010)
      expect(await claim(outbox, 'titles')).toMatchObject([{ conversationId: 'stuck', seq: 1, tries: 1 }])
    })

    testOutbox(
      'a claim that is not settled in time counts as a try and is due again, and its holder has lost it',
      async (bench) => {
        const { store, outbox, pass } = bench
        await outbox.register([toTitles])
        await store.appendEvent('chat', titled('one'))
        const [late] = await claim(outbox, 'titles', 20)
        await pass(30)
        expect(await claim(outbox, 'titles')).toEqual([])
        const [second] = await claim(outbox, 'titles', 20, true)
        expect(second).toEqual({ ...late, tries: 1, token: second!.token })
        expect(second!.token).toBeGreaterThan(late!.token)
        for (const end of [
          { type: 'delivered' },
          { type: 'again', inMs: 0, tries: 1 },
          { type: 'failed', error: 'x' },
        ] as const)
          expect(await outbox.settle(late!, end)).toEqual({ type: 'lost' })
        await pass(30)
        const [third] = await claim(outbox, 'titles', minute, true)
        expect(third).toMatchObject({ tries: 2 })
        expect(await outbox.settle(third!, { type: 'delivered' })).toEqual({ type: 'ok', next: null })
        expect(await outbox.failed()).toEqual([])
      },
    )

    testOutbox('what fails is listed, and the next of its line follows', async ({ store, outbox }) => {
      await outbox.register([toTitles, { ...toTitles, name: 'others' }])
      await store.forTenant('acme').putConversation('chat', {})
      await store.forTenant('acme').commit('chat', { events: [titled('one'), titled('two')] })
      const [first] = await claim(outbox, 'titles')
      const error = 'HTTP 500 \u0000 \ud800'
      const settled = await outbox.settle({ ...first!, tries: 4 }, { type: 'failed', error, leaseMs: minute })
      expect(settled).toEqual({ type: 'ok', next: { ...first, seq: 2 } })
      await outbox.settle({ ...first!, seq: 2 }, { type: 'failed', error: 'again' })
      const ofOne = {
        subscriber: 'titles',
        tenant: 'acme',
        conversationId: 'chat',
        seq: 1,
        tries: 5,
        error: error.toWellFormed(),
      }
      const [second, one] = await outbox.failed()
      expect(one).toEqual({ ...ofOne, id: one!.id, failedAt: one!.failedAt })
      expect(second).toMatchObject({ seq: 2, tries: 1, error: 'again' })
      expect(await outbox.failed({ limit: 1 })).toEqual([second])
      expect(await outbox.failed({ before: second!.id })).toEqual([one])
      expect(await outbox.failed({ subscriber: 'others' })).toEqual([])
      expect(await outbox.subscribers()).toMatchObject([
        { name: 'others', waiting: 2, failed: 0 },
        { name: 'titles', types: ['titled'], agent: null, stoppedAt: null, waiting: 0, failed: 2 },
      ])
    })

    testOutbox('what failed is tried again by hand, or forgotten', async ({ store, outbox }) => {
      await outbox.register([toTitles])
      await store.putConversation('chat', {})
      await store.commit('chat', { events: [titled('one'), titled('two'), titled('three'), titled('four')] })
      let [next] = await claim(outbox, 'titles')
      for (let left = 3; left > 0; left--) {
        const settled = await outbox.settle(next!, { type: 'failed', error: 'x', leaseMs: minute })
        next = settled.type === 'ok' ? settled.next! : next
      }
      const ids = (await outbox.failed()).map(({ id }) => id)
      expect(await outbox.endFailed([ids[0]!, 999_999], 'discard')).toBe(1)
      expect(await outbox.endFailed([ids[1]!, ids[2]!], 'retry')).toBe(2)
      expect(await outbox.endFailed(ids, 'retry')).toBe(0)
      expect(await outbox.failed()).toEqual([])
      // The delivery that is under way comes first.
      expect(await claim(outbox, 'titles')).toEqual([])
      expect(next!.seq).toBe(4)
      await outbox.settle(next!, { type: 'again', inMs: 0, tries: 3 })
      expect((await claim(outbox, 'titles')).map(({ seq, tries }) => [seq, tries])).toEqual([[1, 0]])
    })

    testOutbox('what failed and waits for nothing is due at once when it is tried again', async ({ store, outbox }) => {
      await outbox.register([toTitles])
      await store.appendEvent('chat', titled('one'))
      const [only] = await claim(outbox, 'titles')
      await outbox.settle(only!, { type: 'failed', error: 'x' })
      const [failed] = await outbox.failed()
      await outbox.endFailed([failed!.id], 'retry')
      expect(await drain(outbox, 'titles')).toEqual(['default/chat 1'])
    })

    testOutbox('forks and restored conversations record nothing', async ({ store, outbox }) => {
      await store.commit('chat', { events: [titled('one'), userMsg(), turnEnded('t1')] })
      await outbox.register([{ name: 'all', types: ['titled', 'user_msg', 'turn_ended'], agent: null }])
      await store.fork('chat', 'copy')
      await store.fork('chat', 'short copy', { at: 1 })
      await store.upkeep?.snapshot(async (reader) => {
        const conversation = (await reader.conversation('default', 'chat'))!
        const rows = []
        for await (const row of reader.rows('default', 'chat')) rows.push(row)
        await store.upkeep!.restoreConversation('default', { ...conversation, id: 'restored' }, iterated(rows))
      })
      expect(await claim(outbox, 'all')).toEqual([])
      expect((await outbox.subscribers())[0]).toMatchObject({ waiting: 0 })
      await store.appendEvent('copy', titled('two'))
      expect((await drain(outbox, 'all')).length).toBe(1)
    })

    testOutbox('deleting a conversation, its children or its tenant deletes their rows', async ({ store, outbox }) => {
      await outbox.register([toTitles])
      await store.appendEvent('parent', titled('one'))
      await store.commit('child', {
        events: [userMsg(), titled('one')],
        conversation: { parent: { id: 'parent', callId: 'c' } },
      })
      await store.appendEvent('left', titled('one'))
      await store.forTenant('acme').appendEvent('theirs', titled('one'))
      const claimed = await claim(outbox, 'titles')
      const ofChild = claimed.find(({ conversationId }) => conversationId === 'child')!
      await outbox.settle(ofChild, { type: 'failed', error: 'x' })
      await store.deleteConversation('parent')
      await store.deleteTenant('acme')
      for (const delivery of claimed) {
        const isLeft = delivery.conversationId === 'left'
        expect((await outbox.settle(delivery, { type: 'delivered' })).type).toBe(isLeft ? 'ok' : 'lost')
      }
      expect(await outbox.failed()).toEqual([])
      expect((await outbox.subscribers())[0]).toMatchObject({ waiting: 0, failed: 0 })
      await store.appendEvent('parent', titled('anew'))
      expect(await drain(outbox, 'titles')).toEqual(['default/parent 1'])
    })

    testOutbox(
      'types that a subscriber no longer names are forgotten, new ones begin now',
      async ({ store, outbox }) => {
        await outbox.register([{ name: 'x', types: ['user_msg', 'titled'], agent: null }])
        await store.commit('chat', { events: [userMsg(), titled('one'), turnEnded('t1')] })
        await store.appendEvent('messages', userMsg())
        await outbox.register([{ name: 'x', types: ['titled', 'turn_ended'], agent: null }])
        await store.commit('chat', { events: [userMsg(), turnEnded('t1')] })
        expect(await drain(outbox, 'x')).toEqual(['default/chat 2', 'default/chat 5'])
      },
    )

    testOutbox('a subscriber that is removed leaves nothing behind', async ({ store, outbox }) => {
      await outbox.register([toTitles, { ...toTitles, name: 'kept' }])
      await store.putConversation('chat', {})
      await store.commit('chat', { events: [titled('one'), titled('two')] })
      const [first] = await claim(outbox, 'titles')
      await outbox.settle(first!, { type: 'failed', error: 'x' })
      expect(await outbox.removeSubscriber('titles')).toBe(true)
      expect(await outbox.removeSubscriber('titles')).toBe(false)
      await store.appendEvent('chat', titled('three'))
      expect((await outbox.subscribers()).map(({ name }) => name)).toEqual(['kept'])
      expect(await outbox.failed()).toEqual([])
      await outbox.register([toTitles])
      expect(await claim(outbox, 'titles')).toEqual([])
      expect((await drain(outbox, 'kept')).length).toBe(3)
    })

    testOutbox(
      'claims take those that are due longest, up to the limit of each subscriber',
      async ({ store, outbox, pass }) => {
        await outbox.register([toTitles, { ...toTitles, name: 'others' }])
        for (const id of ['a', 'b', 'c']) {
          await store.appendEvent(id, titled('one'))
          await pass(2)
        }
        const claimed = await outbox.claim({
          subscribers: ['titles', 'others', 'unknown'],
          limit: 2,
          leaseMs: minute,
          lapsed: false,
        })
        expect(claimed.map(({ subscriber, conversationId }) => `${subscriber} ${conversationId}`)).toEqual([
          ...['titles a', 'titles b'],
          ...['others a', 'others b'],
        ])
        expect(new Set(claimed.map(({ token }) => token)).size).toBe(4)
      },
    )

    testOutbox('many claims at once take each line once', async ({ store, outbox }) => {
      await outbox.register([toTitles])
      const ids = Array.from({ length: 12 }, (_, index) => `chat ${index}`)
      await Promise.all(ids.map((id) => store.appendEvent(id, titled('one'))))
      const claims = await Promise.all(
        ids.map(() => outbox.claim({ subscribers: ['titles'], limit: 2, leaseMs: minute, lapsed: false })),
      )
      const more = await claim(outbox, 'titles')
      const taken = [...claims.flat(), ...more].map(({ conversationId }) => conversationId)
      expect(taken.sort()).toEqual(ids.sort())
    })

    testOutbox('commits beside deliveries lose no row', async ({ store, outbox }) => {
      await outbox.register([toTitles])
      const delivered: string[] = []
      for (let round = 0; round < 10; round++) {
        const commits = [1, 2, 3].map((count) => store.appendEvent('chat', titled(`title ${round}.${count}`)))
        const drained = drain(outbox, 'titles')
        await Promise.all(commits)
        delivered.push(...(await drained))
      }
      delivered.push(...(await drain(outbox, 'titles')))
      expect(delivered).toEqual(Array.from({ length: 30 }, (_, index) => `default/chat ${index + 1}`))
    })

    testOutbox('wrong values are refused', async ({ outbox }) => {
      await refused('invalid_id', () => outbox.register([{ name: '', types: ['titled'], agent: null }]))
      await refused('invalid_argument', () => outbox.register([{ name: 'x', types: [], agent: null }]))
      await refused('invalid_argument', () => outbox.register([toTitles, toTitles]))
      await refused('invalid_argument', () => outbox.claim({ subscribers: ['x'], limit: 0, leaseMs: 1, lapsed: false }))
      await refused('invalid_argument', () => outbox.claim({ subscribers: ['x'], limit: 1, leaseMs: 0, lapsed: false }))
      const delivery = { subscriber: 'x', tenant: 'default', conversationId: 'chat', seq: 1, tries: 0, token: 1 }
      await refused('invalid_argument', () => outbox.settle(delivery, { type: 'lost' } as never))
      await refused('invalid_argument', () => outbox.settle({ ...delivery, seq: 0 }, { type: 'delivered' }))
      await refused('invalid_argument', () => outbox.endFailed([0], 'retry'))
      await refused('invalid_argument', () => outbox.endFailed([1], 'forget' as never))
      expect(await outbox.settle(delivery, { type: 'delivered' })).toEqual({ type: 'lost' })
      expect(await outbox.subscribers()).toEqual([])
    })

    testLeaping('a subscriber that no node claims for 7 days stops, and begins again when one does', async (bench) => {
      const { store, leap } = bench
      const { outbox } = store
      if (!outbox) return
      await outbox.register([toTitles, { ...toTitles, name: 'claimed' }])
      await leap(6 * day)
      await claim(outbox, 'claimed')
      await store.appendEvent('chat', titled('in time'))
      await leap(day)
      await store.appendEvent('chat', titled('too late'))
      const states = await outbox.subscribers()
      expect(states.map(({ name, waiting }) => [name, waiting])).toEqual([
        ['claimed', 2],
        ['titles', 1],
      ])
      expect(states.map(({ stoppedAt, claimedAt }) => stoppedAt && stoppedAt - claimedAt)).toEqual([null, 7 * day])
      const [registered] = await outbox.register([toTitles])
      expect(registered).toEqual({ name: 'titles', isNew: false, stoppedAt: states[1]!.stoppedAt })
      await store.appendEvent('chat', titled('again'))
      expect(await drain(outbox, 'titles')).toEqual(['default/chat 1', 'default/chat 3'])
    })

    testTwoStores('a registration in one store holds for the commits of the other', async ({ store, other }) => {
      const { outbox } = store
      if (!outbox) return
      await other.appendEvent('chat', titled('before'))
      await outbox.register([toTitles])
      await other.appendEvent('chat', titled('one'))
      expect(await drain(other.outbox!, 'titles')).toEqual(['default/chat 2'])
      await other.outbox!.removeSubscriber('titles')
      await store.appendEvent('chat', titled('after'))
      expect(await outbox.subscribers()).toEqual([])
    })

    testReopening(
      'subscribers, rows and what failed outlive the store',
      withOutbox(async ({ store, outbox, reopen }) => {
        await outbox.register([toTitles])
        await store.putConversation('chat', {})
        await store.commit('chat', { events: [titled('one'), titled('two')] })
        const [first] = await claim(outbox, 'titles')
        await outbox.settle(first!, { type: 'failed', error: 'x' })
        const failed = await outbox.failed()
        const again = (await reopen()).outbox!
        expect(await again.failed()).toEqual(failed)
        expect(await drain(again, 'titles')).toEqual(['default/chat 2'])
      }),
    )
  })
}

function claim(outbox: Outbox, subscriber: string, leaseMs = minute, lapsed = false): Promise<Delivery[]> {
  return outbox.claim({ subscribers: [subscriber], limit: 100, leaseMs, lapsed })
}

/** Delivers all that is due, line by line; each as its place. */
async function drain(outbox: Outbox, subscriber: string): Promise<string[]> {
  const places: string[] = []
  for (let delivery of await claim(outbox, subscriber)) {
    for (;;) {
      places.push(`${delivery.tenant}/${delivery.conversationId} ${delivery.seq}`)
      const settled = await outbox.settle(delivery, { type: 'delivered', leaseMs: minute })
      if (settled.type === 'lost' || !settled.next) break
      delivery = settled.next
    }
  }
  return places
}

async function* iterated<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}
