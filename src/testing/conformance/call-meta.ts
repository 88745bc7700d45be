import type { JsonObject } from '../../base/json.ts'
import type { TenantStore } from '../../store/store.ts'
import { suspendCalls } from './event-builders.ts'
import type { Suite } from './suite.ts'
import { hostileValues } from './values.ts'

const meta = { ticket: 7, tags: ['vip'], nested: { ok: true } }

export function callMeta({ describe, test, testReopening, expect, refused }: Suite): void {
  describe('what the application attaches to calls', () => {
    test('a call keeps its meta until another one is written, and null removes it', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call', meta })
      expect(await metaOf(store)).toEqual(meta)
      await store.upsertToolCall('chat', { id: 'call', name: 'refund', round: 2 })
      expect(await store.getToolCall('call')).toMatchObject({ name: 'refund', round: 2, meta })
      await store.upsertToolCall('chat', { id: 'call', meta: { ticket: 8 } })
      expect(await metaOf(store)).toEqual({ ticket: 8 })
      await store.upsertToolCall('chat', { id: 'call', meta: null })
      expect(await metaOf(store)).toBe(null)
    })

    test('meta outlives the answer, and is in the inbox and among the pending calls', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call', 'other'])
      const { name, args, kind, prompt } = (await store.getToolCall('call'))!
      await store.upsertToolCall('chat', { id: 'call', conversationId: 'chat', name, args, kind, prompt, meta })
      for (const list of [await store.pendingToolCalls('chat'), await store.pendingInbox()]) {
        expect(list.map((call) => [call.id, call.meta]).sort()).toEqual([
          ['call', meta],
          ['other', null],
        ])
      }
      expect(await store.resolveToolCall('call', 'resolved', true)).toBe('ok')
      expect(await store.getToolCall('call')).toMatchObject({ status: 'resolved', meta })
    })

    test('a fork takes the meta of a pending call along', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const { name, args, kind, prompt } = (await store.getToolCall('call'))!
      await store.upsertToolCall('chat', { id: 'call', name, args, kind, prompt, meta })
      await store.fork('chat', 'copy')
      expect((await store.pendingToolCalls('copy')).map((call) => call.meta)).toEqual([meta])
    })

    test('an audit row keeps its meta, and one without has none', async ({ store }) => {
      await store.putConversation('chat', {})
      await store.putModelCall('chat', { turnRef: 't/1', meta })
      await store.putModelCall('chat', { turnRef: 't/2' })
      await store.putModelCall('chat', { turnRef: 't/3', meta: null })
      expect((await store.modelCalls('chat')).map((call) => call.meta)).toEqual([meta, null, null])
      expect(await store.modelCalls('chat', { turnRef: 't/1', contexts: false })).toMatchObject([{ meta }])
    })

    testReopening('meta is there when the store is opened again, with any text in it', async ({ store, reopen }) => {
      const short = hostileValues.filter((value) => JSON.stringify(value).length < 1_000)
      const hostile: JsonObject = { values: short }
      await store.upsertToolCall('chat', { id: 'call', meta: hostile })
      await store.putModelCall('chat', { turnRef: 't/1', meta: hostile })
      const again = await reopen()
      expect(await metaOf(again)).toEqual(hostile)
      expect(await again.modelCalls('chat')).toMatchObject([{ meta: hostile }])
    })

    test('a page of the inbox and of the audit counts the bytes of meta', async ({ store }) => {
      const large = { text: 'x'.repeat(2_000) }
      for (const id of ['one', 'two']) {
        await store.upsertToolCall('chat', { id, meta: large })
        await store.putModelCall('chat', { turnRef: id, meta: large })
      }
      expect((await store.pendingInbox({ maxBytes: 3_000 })).length).toBe(1)
      expect((await store.modelCalls('chat', { maxBytes: 3_000 })).length).toBe(1)
    })

    test('what is not an object, or is too large, is refused and changes nothing', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call', meta })
      const wrong = ['text', 7, true, ['list'], { text: 'x'.repeat(64 * 1024) }]
      for (const bad of wrong as never[]) {
        await refused('invalid_argument', () => store.upsertToolCall('chat', { id: 'call', meta: bad }), typeof bad)
        await refused('invalid_argument', () => store.putModelCall('chat', { turnRef: 't/1', meta: bad }), typeof bad)
      }
      expect(await metaOf(store)).toEqual(meta)
      expect(await store.modelCalls('chat')).toEqual([])
      await store.upsertToolCall('chat', { id: 'call', meta: { text: 'x'.repeat(60 * 1024) } })
    })
  })

  describe('members that no record has', () => {
    test('an unknown member of a call is refused with its name, and nothing is written', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call', name: 'refund' })
      for (const key of ['colour', 'expiresAt', 'createdAt', 'resolvedAt', 'tool_call_id']) {
        const call = { id: 'call', name: 'changed', [key]: 1 }
        const error = await refused('invalid_argument', () => store.upsertToolCall('chat', call), key)
        expect(error.message.includes(`'${key}'`)).toBe(true)
        await refused('invalid_argument', () => store.commit('chat', { events: [], calls: [call] }), key)
      }
      expect(await store.getToolCall('call')).toMatchObject({ name: 'refund' })
    })

    test('an unknown member of a model call, a summary or a conversation is refused with its name', async ({
      store,
    }) => {
      await store.putConversation('chat', { settings: { colour: 'red' } })
      const summary = { fromSeq: 0, toSeq: 0, content: null, version: 1, base: null }
      const writes: readonly (() => Promise<unknown>)[] = [
        () => store.putModelCall('chat', { turnRef: 't/1', colour: 1 } as never),
        () => store.putSummary('chat', { ...summary, colour: 1 } as never),
        () => store.putConversation('chat', { settings: { colour: 'blue' }, colour: 1 } as never),
      ]
      for (const write of writes) {
        const error = await refused('invalid_argument', write)
        expect(error.message.includes("'colour'")).toBe(true)
      }
      expect(await store.modelCalls('chat')).toEqual([])
      expect(await store.latestSummary('chat')).toBe(null)
      expect(await store.getConversation('chat')).toMatchObject({ settings: { colour: 'red' } })
    })

    test('a call that names another conversation than the one it is written to is refused', async ({ store }) => {
      await store.upsertToolCall('chat', { id: 'call', conversationId: 'chat' })
      await refused('invalid_argument', () => store.upsertToolCall('chat', { id: 'call', conversationId: 'other' }))
      expect(await store.getToolCall('call')).toMatchObject({ conversationId: 'chat' })
    })
  })
}

async function metaOf(store: TenantStore): Promise<JsonObject | null> {
  return (await store.getToolCall('call'))!.meta
}
