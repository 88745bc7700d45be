import type { Summary } from '../../store/records.ts'
import type { Store, WakeHint } from '../../store/store.ts'
import { observe, seeded, suspendCalls, titled, userMsg, userMsgOf } from './event-builders.ts'
import type { Suite } from './suite.ts'
import { hostileValues } from './values.ts'

const minute = 60_000

export function reopening({ describe, test, testReopening, expect, refused }: Suite): void {
  describe('opening again', () => {
    test('a durable store is tested with opening again', async ({ store, canReopen }) => {
      expect(store.durable && !canReopen).toBe(false)
    })

    testReopening('everything that was acknowledged is there', async ({ store, reopen }) => {
      const what = { ids: ['chat', 'copy', 'other'], callIds: ['call', 'answered'] }
      await fill(store)
      const acme = { ...what, tenant: 'acme' }
      await fill(store, 'acme')
      const before = [await observe(store, what), await observe(store, acme)]
      const ref = await store.putBlob(Buffer.from('kept'), 'text/plain')
      const again = await reopen()
      expect([await observe(again, what), await observe(again, acme)]).toEqual(before)
      expect(Buffer.from((await again.getBlob(ref))!.bytes).toString()).toBe('kept')
    })

    testReopening('keys are known, and sequences go on without a gap', async ({ store, reopen }) => {
      await store.commit('chat', { events: [userMsg(), titled('A')], key: 'once', digest: 'first' })
      const again = await reopen()
      expect(await again.commit('chat', { events: [userMsg()], key: 'once', digest: 'first' })).toMatchObject({
        ok: true,
        seq: 2,
      })
      await refused('key_reused', () => again.commit('chat', { events: [], key: 'once', digest: 'second' }))
      expect(await again.appendEvent('chat', titled('B'))).toBe(3)
    })

    testReopening('leases hold, and epochs go on growing', async ({ store, reopen }) => {
      for (const id of ['chat', 'deleted']) await store.appendEvent(id, userMsg())
      const { epoch } = (await store.acquireLease('chat', 'one', minute))!
      const last = (await store.acquireLease('deleted', 'one', minute))!
      await store.deleteConversation('deleted')
      const again = await reopen()
      expect(await again.acquireLease('chat', 'two', minute)).toBe(null)
      expect(await again.commit('chat', { events: [], epoch })).toMatchObject({ ok: true, seq: 1 })
      const next = (await again.acquireLease('chat', 'one', minute))!
      expect(next.epoch).toBeGreaterThan(last.epoch)
    })

    testReopening('due work is still due', async ({ store, reopen }) => {
      await store.commit('chat', { events: [userMsg()], conversation: { agent: 'support' } })
      await suspendCalls(store, 'parked', ['call'])
      const again = await reopen()
      expect(await again.dueWork({ agents: ['support'], limit: 9 })).toEqual([{ tenant: 'default', id: 'chat' }])
    })

    testReopening(
      'a deadline that passed or passes afterwards ends its call',
      async ({ store, reopen, eventually }) => {
        await suspendCalls(store, 'chat', ['passed', 'passes', 'far'])
        await store.scheduleExpiry('chat', 'passed', 1)
        await store.scheduleExpiry('chat', 'passes', 150)
        await store.scheduleExpiry('chat', 'far', minute)
        const again = await reopen()
        await again.appendEvent('other', userMsg())
        await eventually('two expire', async () => (await again.pendingToolCalls('chat')).length === 1)
        expect((await again.pendingToolCalls('chat'))[0]!.id).toBe('far')
        const resolutions = (await again.streamEvents('chat')).filter((event) => event.type === 'resolution')
        for (const { at, content } of resolutions) {
          expect(at).toBeGreaterThanOrEqual((await again.getToolCall(content.callId))!.expiresAt!)
        }
        expect(resolutions.length).toBe(2)
        // Within a second of opening; the rest is slack for a busy machine.
        const opened = (await again.streamEvents('other'))[0]!.at
        const passed = resolutions.find((event) => event.content.callId === 'passed')!
        expect(passed.at - opened).toBeLessThan(3_000)
      },
    )

    testReopening('references to blobs are remembered', async ({ store, reopen }) => {
      const ref = await store.putBlob(Buffer.from('file'), 'text/plain')
      await store.appendEvent('chat', userMsgOf([{ type: 'file', mediaType: 'text/plain', data: ref }]))
      const again = await reopen()
      await again.deleteConversation('chat')
      expect(await again.getBlob(ref)).toBe(null)
    })

    testReopening('operations that started before closing are finished', async ({ store, reopen }) => {
      const numbers = Array.from({ length: 20 }, (_, index) => index)
      const begun = Promise.all(numbers.map((number) => store.appendEvent(`chat-${number}`, userMsg())))
      const again = await reopen()
      expect(await begun).toEqual(numbers.map(() => 1))
      for (const number of numbers) expect((await again.streamEvents(`chat-${number}`)).length).toBe(1)
    })
  })

  async function fill(store: Store, tenant = 'default'): Promise<void> {
    const handle = store.forTenant(tenant)
    const summary: Summary = { fromSeq: 1, toSeq: 1, content: { text: 'short' }, version: 1, base: null }
    await suspendCalls(handle, 'chat', ['call', 'answered'], { expiresInMs: minute, title: 'A title' })
    await handle.resolveToolCall('answered', 'denied', 'no')
    await handle.commit('chat', { events: hostileValues.map((value) => seeded(value)) })
    await handle.putConversation('chat', { settings: { colour: 'red', hostile: hostileValues } })
    await handle.putSummary('chat', summary)
    await handle.putModelCall('chat', { turnRef: 'turn', usage: { inputTokens: 1 } })
    await handle.putSnapshot('chat', hostileValues)
    await handle.fork('chat', 'copy')
    await handle.commit('other', { events: [userMsg()], conversation: { agent: 'support' } })
  }
}

export function closing({ describe, testAlone, expect, refused }: Suite): void {
  describe('closing', () => {
    testAlone('a closed store refuses everything, through every handle', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const acme = store.forTenant('acme')
      await store.close()
      const calls: (() => unknown)[] = [
        () => store.appendEvent('chat', userMsg()),
        () => store.commit('chat', { events: [titled('A')] }),
        () => store.streamEvents('chat'),
        () => store.getConversation('chat'),
        () => store.acquireLease('chat', 'one', 1_000),
        () => store.fork('chat', 'copy'),
        () => store.putBlob(new Uint8Array(1), 'text/plain'),
        () => store.dueWork({ agents: ['support'], limit: 1 }),
        () => store.renewLeases('one', 1_000),
        () => store.keepLeases('one', 1_000, []),
        () => store.deleteTenant('default'),
        () => acme.appendEvent('chat', userMsg()),
        () => acme.listConversations(),
      ]
      for (const call of calls) await refused('store_closed', call)
    })

    testAlone('closing twice, also concurrently, closes once', async ({ store }) => {
      await Promise.all([store.close(), store.close()])
      await store.close()
    })

    testAlone('operations that started before are finished, later ones are refused', async ({ store }) => {
      const begun = Promise.allSettled(Array.from({ length: 10 }, () => store.appendEvent('chat', userMsg())))
      const closed = store.close()
      const late = refused('store_closed', () => store.appendEvent('chat', userMsg()))
      await closed
      await late
      const seqs = (await begun).map((result) => (result.status === 'fulfilled' ? result.value : 'refused'))
      expect(seqs.sort((left, right) => Number(left) - Number(right))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    })

    testAlone('listeners hear nothing from a closed store', async ({ store, pass }) => {
      let heard = 0
      const stop = store.onWake(() => {
        heard += 1
      })
      await store.close()
      await pass(20)
      stop()
      expect(heard).toBe(0)
    })
  })
}

export function snapshots({ describe, test, expect }: Suite): void {
  describe('snapshots', () => {
    test('a snapshot is read back, and a later one replaces it whole', async ({ store }) => {
      expect(await store.getSnapshot('chat')).toBe(null)
      await store.putSnapshot('chat', { version: 1, state: { mood: 'good', old: true } })
      await store.putSnapshot('chat', { version: 2, state: { mood: 'better' } })
      expect(await store.getSnapshot('chat')).toEqual({ version: 2, state: { mood: 'better' } })
    })

    test('a snapshot needs no conversation and makes none', async ({ store }) => {
      await store.putSnapshot('chat', ['any', 'thing'])
      expect(await store.getSnapshot('chat')).toEqual(['any', 'thing'])
      expect(await store.getConversation('chat')).toBe(null)
      expect(await store.deleteConversation('chat')).toBe(false)
      expect(await store.getSnapshot('chat')).toBe(null)
    })

    test('a snapshot leaves the log as it was and goes with its conversation', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      await store.appendEvent('other', userMsg())
      const before = await store.getConversation('chat')
      for (const id of ['chat', 'other']) await store.putSnapshot(id, id)
      expect(await store.getConversation('chat')).toEqual(before)
      await store.deleteConversation('chat')
      expect(await store.getSnapshot('chat')).toBe(null)
      expect(await store.getSnapshot('other')).toBe('other')
    })

    test('a snapshot of null reads like none', async ({ store }) => {
      await store.putSnapshot('chat', null)
      expect(await store.getSnapshot('chat')).toBe(null)
    })
  })
}

export function hints({ describe, testAlone, testTwoStores, expect }: Suite): void {
  describe('hints', () => {
    testAlone('a listener hears of every log that grows, with its last seq', async ({ store, eventually }) => {
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

    testAlone('listeners hear of answers, expiries and wake-ups', async ({ store, eventually }) => {
      await suspendCalls(store, 'chat', ['one', 'two'])
      const heard = listen(store)
      await store.resolveToolCall('one', 'resolved', true)
      await eventually('the answer is heard', async () => has(heard, { tenant: 'default', id: 'chat', seq: 7 }))
      await store.scheduleExpiry('chat', 'two', 10)
      await eventually('the expiry is heard', async () => has(heard, { tenant: 'default', id: 'chat', seq: 9 }))
      const before = heard.length
      await store.commit('chat', { events: [], wakeAt: 'now' })
      await eventually('the wake-up is heard', async () => heard.length > before)
    })

    testAlone('listeners do not hear of refused changes', async ({ store, pass }) => {
      await store.appendEvent('chat', userMsg())
      const heard = listen(store)
      await store.commit('chat', { events: [titled('A')], expectedSeq: 9 })
      await store.commit('absent', { events: [titled('A')] }).catch(() => {})
      await pass(20)
      expect(heard).toEqual([])
    })

    testAlone('an event can be read once a listener hears of it', async ({ store, eventually }) => {
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

    testTwoStores('listeners of one store hear what the other writes', async ({ store, other, eventually }) => {
      const heard = listen(other)
      // A new listener may miss what was written just before.
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
