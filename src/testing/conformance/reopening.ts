import type { Store } from '../../store/store.ts'
import type { Summary } from '../../store/summary.ts'
import { seeded, titled, userMsg, userMsgOf } from './event-builders.ts'
import { hostileValues } from './hostile-values.ts'
import { observe } from './observe.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

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
        // Within a second of the opening; the rest is for a machine with other things to do.
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

    testReopening('what was begun before closing is done', async ({ store, reopen }) => {
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
