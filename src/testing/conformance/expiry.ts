import type { LogEvent } from '../../log/events.ts'
import type { ToolCall } from '../../store/records.ts'
import type { Store, TenantStore } from '../../store/store.ts'
import { resolution, suspendCalls, suspension } from './event-builders.ts'
import type { Suite } from './suite.ts'

const minute = 60_000
const month = 30 * 24 * 60 * minute

export function expiry({ describe, test, testTwoStores, testLeaping, expect }: Suite): void {
  describe('expiry', () => {
    test('an expired call has the exact result, its resolution and a wake-up', async ({ store, eventually }) => {
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: 20 })
      await eventually('the call expires', () => isExpired(store, 'call'))
      const result = { ok: false, error: 'tool call expired: no response' }
      const row = (await store.getToolCall('call'))!
      expect(row).toMatchObject({ status: 'expired', result })
      const events = await store.streamEvents('chat', { after: 4 })
      expect(events.map(({ at: _, ...event }) => event)).toEqual([
        {
          conversationId: 'chat',
          seq: 5,
          type: 'resolution',
          content: { callId: 'call', round: 1, kind: 'approval', status: 'expired', value: result, who: 'system' },
        },
      ])
      expect(await store.dueWork({ agents: ['support'], limit: 9 })).toEqual([{ tenant: 'default', id: 'chat' }])
      expect((await store.getConversation('chat'))!.status).toBe('active')
    })

    test('a call never expires early, and only once', async ({ store, pass, eventually }) => {
      const ids = Array.from({ length: 10 }, (_, index) => `call-${index}`)
      await suspendCalls(store, 'chat', ids)
      await Promise.all(ids.map((id, index) => store.scheduleExpiry('chat', id, 10 + index * 7)))
      await eventually('all expire', async () => (await store.pendingToolCalls('chat')).length === 0)
      await pass(30)
      const resolutions = await resolutionsOf(store)
      expect(resolutions.map((event) => event.content.callId).sort()).toEqual(ids)
      for (const { at, content } of resolutions) {
        const row = (await store.getToolCall(content.callId))!
        expect(at).toBeGreaterThanOrEqual(row.expiresAt!)
        expect(row.resolvedAt!).toBeGreaterThanOrEqual(row.expiresAt!)
      }
    })

    test('a deadline can be set by every way of writing a call', async ({ store, eventually }) => {
      await store.upsertToolCall('one', { id: 'upserted', expiresInMs: 10 })
      await suspendCalls(store, 'two', ['committed'], { expiresInMs: 10 })
      await suspendCalls(store, 'three', ['scheduled'])
      await store.scheduleExpiry('three', 'scheduled', 10)
      for (const id of ['upserted', 'committed', 'scheduled'])
        await eventually(`${id} expires`, () => isExpired(store, id))
    })

    test('a sooner deadline replaces a later one', async ({ store, eventually }) => {
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: minute })
      await store.scheduleExpiry('chat', 'call', 10)
      await eventually('the call expires', () => isExpired(store, 'call'))
    })

    test('a deadline that was moved, called off, answered or passed to another round does not fire', async (bench) => {
      const { store, pass } = bench
      const ids = ['answered', 'called off', 'moved', 'next round']
      // A machine too slow to do all this before the deadline gets a later one.
      for (const expiresInMs of [300, 3_000]) {
        const chat = `chat-${expiresInMs}`
        const [answered, calledOff, moved, nextRound] = ids.map((id) => `${id} ${expiresInMs}`) as Four
        await suspendCalls(store, chat, [answered, calledOff, moved, nextRound], { expiresInMs })
        await store.scheduleExpiry(chat, moved, minute)
        await store.cancelExpiry(chat, calledOff)
        await store.resolveToolCall(answered, 'resolved', 'in time')
        const { epoch } = (await store.acquireLease(chat, 'owner', minute))!
        await store.commit(chat, {
          epoch,
          events: [resolution(nextRound), suspension(nextRound, { round: 2 })],
          resolve: [{ callId: nextRound, round: 1, status: 'resolved', result: true }],
          calls: [{ id: nextRound, round: 2 }],
        })
        const statuses = async () =>
          Promise.all([answered, calledOff, moved, nextRound].map(async (id) => (await store.getToolCall(id))!.status))
        if ((await statuses()).includes('expired')) continue
        await pass(expiresInMs + 100)
        expect(await statuses()).toEqual(['resolved', 'pending', 'pending', 'pending'])
        expect((await store.getToolCall(calledOff))!.expiresAt).toBe(null)
        expect((await store.getToolCall(nextRound))!).toMatchObject({ round: 2, expiresAt: null })
        return
      }
      throw new Error('four writes took longer than three seconds')
    })

    test('deadlines of a month and of a century do not fire at once', async ({ store, pass }) => {
      const century = 3_155_760_000_000
      await suspendCalls(store, 'chat', ['month', 'century'], { expiresInMs: month })
      await store.scheduleExpiry('chat', 'century', century)
      await pass(30)
      const rows = await store.pendingToolCalls('chat')
      expect(rows.map((row) => row.id)).toEqual(['century', 'month'])
      expect(rows[0]!.expiresAt! - rows[0]!.createdAt).toBeGreaterThanOrEqual(century)
      expect(rows[1]!.expiresAt! - rows[1]!.createdAt).toBeGreaterThanOrEqual(month)
    })

    testLeaping('a deadline of a month fires when the month is over', async ({ store, leap }) => {
      await suspendCalls(store, 'chat', ['call'], { expiresInMs: month })
      await leap(month - 1)
      expect((await store.getToolCall('call'))!.status).toBe('pending')
      await leap(1)
      expect((await store.getToolCall('call'))!.status).toBe('expired')
    })

    test('the deadline of an ended call can be neither moved nor called off', async ({ store, pass }) => {
      await suspendCalls(store, 'chat', ['with', 'without'])
      await store.scheduleExpiry('chat', 'with', minute)
      for (const id of ['with', 'without']) {
        await store.resolveToolCall(id, 'resolved', null)
        const before = await store.getToolCall(id)
        await store.cancelExpiry('chat', id)
        expect(await store.getToolCall(id)).toEqual(before)
        await store.scheduleExpiry('chat', id, 10)
        await pass(30)
        expect(await store.getToolCall(id)).toEqual(before)
      }
      expect((await resolutionsOf(store)).length).toBe(2)
    })

    test('a call whose deadline is moved at the last moment does not expire before the new one', async (bench) => {
      const { store, pass, eventually } = bench
      const ids = Array.from({ length: 30 }, (_, index) => `call-${index}`)
      await suspendCalls(store, 'chat', ids, { expiresInMs: 25 })
      await Promise.all(
        ids.map(async (id, index) => {
          await pass(10 + index)
          await store.scheduleExpiry('chat', id, minute)
        }),
      )
      const isMoved = (row: ToolCall) => row.expiresAt! - row.createdAt >= minute
      await eventually('the others expire', async () => (await store.pendingToolCalls('chat')).every(isMoved))
      for (const { at, content } of await resolutionsOf(store)) {
        expect(at).toBeGreaterThanOrEqual((await store.getToolCall(content.callId))!.expiresAt!)
      }
    })

    test('more calls than one look finds all expire, in every tenant', async ({ store, eventually }) => {
      const ids = Array.from({ length: 130 }, (_, index) => `call-${index}`)
      const handles = [store, store.forTenant('acme'), store.forTenant('globex')]
      await Promise.all(handles.map((handle) => suspendCalls(handle, 'chat', ids, { expiresInMs: 10 })))
      for (const handle of handles) {
        await eventually('all expire', async () => (await handle.pendingToolCalls('chat')).length === 0)
        const resolutions = await resolutionsOf(handle)
        expect(new Set(resolutions.map((event) => event.content.callId)).size).toBe(130)
        expect(resolutions.length).toBe(130)
      }
    })

    test('an answer at the deadline and the expiry never both win', async ({ store, pass, eventually }) => {
      await race(store, store, pass, eventually)
    })

    testTwoStores('with two stores open a call still expires once', async ({ store, other, pass, eventually }) => {
      const ids = Array.from({ length: 30 }, (_, index) => `call-${index}`)
      await suspendCalls(store, 'chat', ids, { expiresInMs: 20 })
      await eventually('all expire', async () => (await other.pendingToolCalls('chat')).length === 0)
      await pass(30)
      expect((await resolutionsOf(store)).length).toBe(30)
    })

    testTwoStores('an answer through one store and the expiry never both win', async (bench) => {
      await race(bench.store, bench.other, bench.pass, bench.eventually)
    })

    testTwoStores('a deadline fires though the store that set it was closed', async ({ store, other, eventually }) => {
      await suspendCalls(other, 'chat', ['call'])
      await other.scheduleExpiry('chat', 'call', 100)
      await other.close()
      await eventually('the call expires', () => isExpired(store, 'call'))
    })
  })

  async function race(
    store: Store,
    other: Store,
    pass: (ms: number) => Promise<void>,
    eventually: (what: string, check: () => Promise<boolean>) => Promise<boolean>,
  ): Promise<void> {
    const ids = Array.from({ length: 30 }, (_, index) => `call-${index}`)
    await suspendCalls(store, 'chat', ids, { expiresInMs: 25 })
    const answers = await Promise.all(
      ids.map(async (id, index) => {
        await pass(index)
        return other.resolveToolCall(id, 'resolved', 'answered')
      }),
    )
    await eventually('all have ended', async () => (await store.pendingToolCalls('chat')).length === 0)
    const resolutions = await resolutionsOf(store)
    expect(resolutions.length).toBe(30)
    for (const [index, id] of ids.entries()) {
      const row = (await store.getToolCall(id)) as ToolCall
      const status = answers[index] === 'ok' ? 'resolved' : 'expired'
      expect([id, row.status]).toEqual([id, status])
      const event = resolutions.find(({ content }) => content.callId === id)!
      expect([id, event.content.status]).toEqual([id, status])
    }
  }
}

type Four = [string, string, string, string]

async function isExpired(store: TenantStore, callId: string): Promise<boolean> {
  return (await store.getToolCall(callId))?.status === 'expired'
}

async function resolutionsOf(store: TenantStore): Promise<Extract<LogEvent, { type: 'resolution' }>[]> {
  const events = await store.streamEvents('chat')
  return events.filter((event) => event.type === 'resolution')
}

export function rounds({ describe, test, expect }: Suite): void {
  describe('rounds', () => {
    test('an answer to the first round never ends the second', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await answerRound(store, 1, 'ann')
      await openRound(store, 2)
      const second = await answerRound(store, 1, 'bob')
      const winner = (await store.streamEvents('chat'))[4]
      expect(winner).toMatchObject({ seq: 5, content: { round: 1, who: 'ann' } })
      expect(second).toEqual({ ok: false, conflict: 'stale', lastSeq: 6, winner })
      expect(await store.getToolCall('call')).toMatchObject({ status: 'pending', round: 2 })
      expect((await store.getConversation('chat'))!.lastSeq).toBe(6)
    })

    test('an answer to a round that has not begun is stale and has no winner', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      expect(await answerRound(store, 2, 'ann')).toEqual({ ok: false, conflict: 'stale', lastSeq: 4 })
      await answerRound(store, 1, 'ann')
      expect(await answerRound(store, 2, 'ann')).toEqual({ ok: false, conflict: 'stale', lastSeq: 5 })
    })

    test('each round has its own winner, whatever round the row is in', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await answerRound(store, 1, 'ann')
      await openRound(store, 2)
      await answerRound(store, 2, 'bob')
      await openRound(store, 3)
      await answerRound(store, 3, 'cat')
      const told = [
        await answerRound(store, 1, 'eve'),
        await answerRound(store, 2, 'eve'),
        await answerRound(store, 3, 'eve'),
      ]
      expect(told).toMatchObject([
        { conflict: 'stale', winner: { content: { round: 1, who: 'ann' } } },
        { conflict: 'stale', winner: { content: { round: 2, who: 'bob' } } },
        { conflict: 'stale', winner: { content: { round: 3, who: 'cat' } } },
      ])
    })

    test('an answer without a round goes to the round that is open', async ({ store }) => {
      await suspendCalls(store, 'chat', ['call'])
      await answerRound(store, 1, 'ann')
      expect(await store.resolveToolCall('call', 'resolved', null)).toBe('stale')
      await openRound(store, 2)
      expect(await store.resolveToolCall('call', 'resolved', 'late')).toBe('ok')
      const event = (await store.streamEvents('chat')).at(-1)!
      expect(event.content).toMatchObject({ callId: 'call', round: 2, kind: 'client_exec', value: 'late' })
    })

    test('an expiry names the round it ended', async ({ store, eventually }) => {
      await suspendCalls(store, 'chat', ['call'])
      await answerRound(store, 1, 'ann')
      await openRound(store, 2, 20)
      await eventually('the second round expires', async () => (await store.getToolCall('call'))!.status === 'expired')
      const event = (await store.streamEvents('chat')).at(-1)!
      expect(event.content).toMatchObject({ callId: 'call', round: 2, status: 'expired', kind: 'client_exec' })
      expect(await answerRound(store, 2, 'ann')).toEqual({ ok: false, conflict: 'stale', lastSeq: 7, winner: event })
    })
  })
}

function answerRound(store: TenantStore, round: number, who: string) {
  return store.commit('chat', {
    events: [resolution('call', { round, who })],
    resolve: [{ callId: 'call', round, status: 'resolved', result: who }],
  })
}

function openRound(store: TenantStore, round: number, expiresInMs: number | null = null) {
  return store.commit('chat', {
    events: [suspension('call', { round, kind: 'client_exec', expiresInMs })],
    calls: [{ id: 'call', round, kind: 'client_exec', expiresInMs }],
  })
}
