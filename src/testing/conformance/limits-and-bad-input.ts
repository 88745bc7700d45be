import type { Store } from '../../store/store.ts'
import { titled, userMsg } from './event-builders.ts'
import { observe } from './observe.ts'
import type { Suite } from './suite.ts'
import { suspendCalls } from './suspend-calls.ts'

const century = 3_155_760_000_000
const mebibyte = 1024 * 1024
/** The bytes around the title in an encoded `titled` event: `{"title":""}`. */
const frame = 12

export function limitsAndBadInput({ describe, test, expect, refused }: Suite): void {
  describe('limits and bad input', () => {
    test('an event of exactly a mebibyte is kept, counted in bytes', async ({ store }) => {
      const texts = [
        'x'.repeat(mebibyte - frame),
        'é'.repeat((mebibyte - frame) / 2),
        '€'.repeat((mebibyte - frame) / 3),
      ]
      for (const text of texts) {
        const seq = await store.appendEvent('chat', titled(text))
        const [event] = await store.streamEvents('chat', { after: seq - 1 })
        expect((event!.content as { title: string }).title === text).toBe(true)
      }
    })

    test('an event of more than a mebibyte is refused, and all of its commit', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const texts = ['x'.repeat(mebibyte - frame + 1), 'é'.repeat(mebibyte / 2), '\u0000'.repeat(mebibyte / 6)]
      for (const text of texts) {
        await refused('event_too_large', () => store.appendEvent('chat', titled(text)))
        await refused('event_too_large', () =>
          store.commit('chat', { events: [titled('A'), titled(text)], key: 'once' }),
        )
      }
      expect((await store.getConversation('chat'))!.lastSeq).toBe(1)
      expect(await store.commit('chat', { events: [titled('A')], key: 'once' })).toMatchObject({ ok: true, seq: 2 })
    })

    test('numbers that make no sense are refused alike everywhere', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      for (const [where, min, call] of wholeNumbers(store)) {
        for (const bad of [min - 1, -5, min + 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '5', null, {}]) {
          await refused('invalid_argument', () => call(bad as never), `${where}: ${String(bad)}`)
        }
      }
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('durations that make no sense are refused alike everywhere', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      for (const [where, min, call] of durations(store)) {
        for (const bad of [min - 1, -5, min + 0.5, Number.NaN, Number.POSITIVE_INFINITY, century + 1, '5', {}]) {
          await refused('invalid_argument', () => call(bad as never), `${where}: ${String(bad)}`)
        }
      }
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('words that mean nothing are refused alike everywhere', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      for (const [where, call] of words(store)) {
        for (const bad of ['', 'nonsense', 'Pending', null, 5, {}]) {
          await refused('invalid_argument', () => call(bad as never), `${where}: ${String(bad)}`)
        }
      }
      for (const field of ['status', 'executor', 'kind', 'round']) {
        for (const bad of ['', 'nonsense', 0, {}]) {
          await refused('invalid_argument', () => store.upsertToolCall('chat', { id: 'call', [field]: bad }), field)
        }
      }
      await refused('invalid_argument', () => store.resolveToolCall('call', 'pending' as never, null))
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('things of the wrong shape are refused', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      const before = await observe(store, { ids: ['chat'], callIds: ['call'] })
      for (const events of [undefined, null, 'events', {}]) {
        await refused('invalid_argument', () => store.commit('chat', { events } as never))
      }
      for (const event of [undefined, null, 'event']) {
        await refused('invalid_argument', () => store.appendEvent('chat', event as never))
      }
      for (const settings of [null, [], 'red', 5]) {
        await refused('invalid_argument', () => store.putConversation('chat', { settings } as never))
      }
      for (const wakeAt of ['later', 5, {}]) {
        await refused('invalid_argument', () => store.commit('chat', { events: [], wakeAt } as never))
      }
      expect(await observe(store, { ids: ['chat'], callIds: ['call'] })).toEqual(before)
    })

    test('bad input is refused before anything is looked at', async ({ store }) => {
      await refused('invalid_argument', () => store.streamEvents('nobody', { limit: 0 }))
      await refused('invalid_argument', () => store.scheduleExpiry('nobody', 'nothing', 0))
      await refused('invalid_argument', () => store.fork('nobody', 'copy', { at: -1 }))
      await refused('invalid_argument', () => store.acquireLease('nobody', 'one', 0))
      await refused('invalid_argument', () => store.resolveToolCall('nothing', 'nonsense' as never, null))
      await refused('invalid_value', () => store.resolveToolCall('nothing', 'resolved', Number.NaN))
    })
  })
}

type NumberPlace = [where: string, min: number, call: (value: number) => unknown]

function wholeNumbers(store: Store): NumberPlace[] {
  const resolve = (round: number) => [{ callId: 'call', round, status: 'resolved', result: null }] as const
  return [
    ['streamEvents after', 0, (after) => store.streamEvents('chat', { after })],
    ['streamEvents before', 0, (before) => store.streamEvents('chat', { before })],
    ['streamEvents limit', 1, (limit) => store.streamEvents('chat', { limit })],
    ['streamEvents maxBytes', 1, (maxBytes) => store.streamEvents('chat', { maxBytes })],
    ['pageEvents maxBytes', 1, (maxBytes) => store.pageEvents('chat', { maxBytes })],
    ['pageSince limit', 1, (limit) => store.pageSince('chat', { limit })],
    ['listConversations limit', 1, (limit) => store.listConversations({ limit })],
    ['listConversations maxBytes', 1, (maxBytes) => store.listConversations({ maxBytes })],
    ['pendingInbox limit', 1, (limit) => store.pendingInbox({ limit })],
    ['pendingInbox maxBytes', 1, (maxBytes) => store.pendingInbox({ maxBytes })],
    ['modelCalls skip', 0, (skip) => store.modelCalls('chat', { skip })],
    ['modelCalls maxBytes', 1, (maxBytes) => store.modelCalls('chat', { maxBytes })],
    ['dueWork limit', 1, (limit) => store.dueWork({ agents: ['support'], limit })],
    ['commit expectedSeq', 0, (expectedSeq) => store.commit('chat', { events: [], expectedSeq })],
    ['commit expectedAt', 0, (expectedAt) => store.commit('chat', { events: [], expectedSeq: 1, expectedAt })],
    ['commit epoch', 0, (epoch) => store.commit('chat', { events: [], epoch })],
    ['commit round', 1, (round) => store.commit('chat', { events: [], resolve: resolve(round) })],
    ['fork at', 0, (at) => store.fork('chat', 'copy', { at })],
    ['releaseLease epoch', 0, (epoch) => store.releaseLease('chat', epoch)],
  ]
}

function durations(store: Store): NumberPlace[] {
  return [
    ['scheduleExpiry', 1, (ms) => store.scheduleExpiry('chat', 'call', ms)],
    ['upsertToolCall', 1, (expiresInMs) => store.upsertToolCall('chat', { id: 'call', expiresInMs })],
    ['commit calls', 1, (expiresInMs) => store.commit('chat', { events: [], calls: [{ id: 'call', expiresInMs }] })],
    ['commit wakeAt', 0, (inMs) => store.commit('chat', { events: [], wakeAt: { inMs } })],
    ['acquireLease', 1, (ttlMs) => store.acquireLease('chat', 'one', ttlMs)],
    ['renewLeases', 1, (ttlMs) => store.renewLeases('one', ttlMs)],
    ['keepLeases', 1, (ttlMs) => store.keepLeases('one', ttlMs, [])],
    ['gcModelCalls', 0, (ttlMs) => store.gcModelCalls('chat', ttlMs)],
  ]
}

function words(store: Store): [string, (word: never) => unknown][] {
  return [
    ['streamEvents keep', (keep) => store.streamEvents('chat', { keep })],
    ['listConversations status', (status) => store.listConversations({ status })],
    ['putConversation status', (status) => store.putConversation('chat', { status })],
    ['putConversation kind', (kind) => store.putConversation('chat', { kind })],
    ['commit status', (status) => store.commit('chat', { events: [], conversation: { status } })],
    ['resolveToolCall status', (status) => store.resolveToolCall('call', status, null)],
    [
      'commit resolve status',
      (status) => store.commit('chat', { events: [], resolve: [{ callId: 'call', round: 1, status, result: null }] }),
    ],
  ]
}
