import type { Store, WakeHint } from '../../store/store.ts'
import { titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

export function hints({ describe, testAlone, testTwoStores, expect }: Suite): void {
  describe('hints', () => {
    testAlone('whoever listens hears of every log that grows, with its last seq', async ({ store, eventually }) => {
      const heard = listen(store)
      await store.appendEvent('chat', userMsg())
      await store.commit('chat', { events: [titled('A'), titled('B')] })
      await store.forTenant('acme').appendEvent('other', userMsg())
      await eventually('all is heard', async () => heard.length >= 3)
      expect(heard).toEqual([
        { tenant: 'default', id: 'chat', seq: 1 },
        { tenant: 'default', id: 'chat', seq: 3 },
        { tenant: 'acme', id: 'other', seq: 1 },
      ])
    })

    testAlone('answers, expiries and wake-ups are heard of', async ({ store, eventually }) => {
      await suspendCalls(store, 'chat', ['one', 'two'])
      const heard = listen(store)
      await store.resolveToolCall('one', 'resolved', true)
      await eventually('the answer is heard', async () => has(heard, { tenant: 'default', id: 'chat', seq: 7 }))
      await store.scheduleExpiry('chat', 'two', 10)
      await eventually('the expiry is heard', async () => has(heard, { tenant: 'default', id: 'chat', seq: 8 }))
      const before = heard.length
      await store.commit('chat', { events: [], wakeAt: 'now' })
      await eventually('the wake-up is heard', async () => heard.length > before)
    })

    testAlone('what was refused is not heard of', async ({ store, pass }) => {
      await store.appendEvent('chat', userMsg())
      const heard = listen(store)
      await store.commit('chat', { events: [titled('A')], expectedSeq: 9 })
      await store.commit('nobody', { events: [titled('A')] }).catch(() => {})
      await pass(20)
      expect(heard).toEqual([])
    })

    testAlone('what is heard of can be read', async ({ store, eventually }) => {
      const read: number[] = []
      store.onWake(({ id, seq }) => {
        void store.streamEvents(id, { after: seq - 1 }).then((events) => read.push(events[0]?.seq ?? 0))
      })
      for (let seq = 1; seq <= 3; seq++) await store.appendEvent('chat', userMsg())
      await eventually('all was read', async () => read.length === 3)
      expect(read.sort()).toEqual([1, 2, 3])
    })

    testAlone('several may listen, and each may stop', async ({ store, eventually, pass }) => {
      const first: WakeHint[] = []
      const second: WakeHint[] = []
      const stop = store.onWake((hint) => first.push(hint))
      store.onWake((hint) => second.push(hint))
      await store.appendEvent('chat', userMsg())
      await eventually('both heard', async () => first.length > 0 && second.length > 0)
      stop()
      stop()
      const before = first.length
      await store.appendEvent('chat', userMsg())
      await eventually('the second heard', async () => has(second, { tenant: 'default', id: 'chat', seq: 2 }))
      await pass(5)
      expect(first.length).toBe(before)
    })

    testAlone('a listener that throws harms neither the commit nor the others', async ({ store, eventually }) => {
      store.onWake(() => {
        throw new Error('a listener of the conformance suite throws on purpose')
      })
      const heard = listen(store)
      expect(await store.appendEvent('chat', userMsg())).toBe(1)
      await eventually('the other hears', async () => heard.length > 0)
    })

    testTwoStores('what one store writes is heard of in the other', async ({ store, other, eventually }) => {
      const heard = listen(other)
      // Whoever begins to listen may miss what was written just before.
      await eventually('a hint arrives', async () => {
        await store.appendEvent('chat', userMsg())
        return heard.some((hint) => hint.tenant === 'default' && hint.id === 'chat')
      })
      const acme = store.forTenant('acme')
      const seq = await acme.commit('chat', { events: [userMsg(), titled('A')] })
      expect(seq).toMatchObject({ ok: true, seq: 2 })
      await eventually('the hint of the tenant arrives', async () => has(heard, { tenant: 'acme', id: 'chat', seq: 2 }))
    })
  })
}

function listen(store: Store): WakeHint[] {
  const heard: WakeHint[] = []
  store.onWake((hint) => heard.push(hint))
  return heard
}

function has(hints: readonly WakeHint[], expected: WakeHint): boolean {
  return hints.some(({ tenant, id, seq }) => tenant === expected.tenant && id === expected.id && seq === expected.seq)
}
